// The agent card of A2A 1.0 (a2a.md section 7), closed everywhere: vendor data has no place outside `params`.
const text = { type: 'string', minLength: 1 };
const texts = { type: 'array', items: text };
const url = { type: 'string', format: 'uri' };
const closed = (required, properties) => ({
  type: 'object', required, properties, additionalProperties: false,
});
const oneOf = (members) => ({
  ...closed([], members), minProperties: 1, maxProperties: 1,
});
const requirements = {
  type: 'array',
  items: closed(['schemes'], {
    schemes: { type: 'object', additionalProperties: closed([], { list: { type: 'array', items: { type: 'string' } } }) },
  }),
};
const scopes = { type: 'object', additionalProperties: { type: 'string' } };
const flow = (...urls) => closed([...urls, 'scopes'], {
  ...Object.fromEntries(urls.map((name) => [name, url])), refreshUrl: url, scopes, pkceRequired: { type: 'boolean' },
});

const securityScheme = oneOf({
  apiKeySecurityScheme: closed(['location', 'name'], {
    description: text, location: { enum: ['query', 'header', 'cookie'] }, name: text,
  }),
  httpAuthSecurityScheme: closed(['scheme'], { description: text, scheme: text, bearerFormat: text }),
  oauth2SecurityScheme: closed(['flows'], {
    description: text,
    oauth2MetadataUrl: url,
    flows: oneOf({
      authorizationCode: flow('authorizationUrl', 'tokenUrl'),
      clientCredentials: flow('tokenUrl'),
      deviceCode: flow('deviceAuthorizationUrl', 'tokenUrl'),
    }),
  }),
  openIdConnectSecurityScheme: closed(['openIdConnectUrl'], { description: text, openIdConnectUrl: url }),
  mtlsSecurityScheme: closed([], { description: text }),
});

export const cardSchema = closed(
  ['name', 'description', 'supportedInterfaces', 'version', 'capabilities', 'defaultInputModes',
    'defaultOutputModes', 'skills'],
  {
    name: text,
    description: text,
    supportedInterfaces: {
      type: 'array',
      minItems: 1,
      items: closed(['url', 'protocolBinding', 'protocolVersion'], {
        url,
        protocolBinding: { anyOf: [{ enum: ['JSONRPC', 'GRPC', 'HTTP+JSON'] }, url] },
        tenant: text,
        protocolVersion: { const: '1.0' },
      }),
    },
    provider: closed(['url', 'organization'], { url, organization: text }),
    version: text,
    documentationUrl: url,
    capabilities: closed([], {
      streaming: { type: 'boolean' },
      pushNotifications: { type: 'boolean' },
      extendedAgentCard: { type: 'boolean' },
      extensions: {
        type: 'array',
        items: closed(['uri'], {
          uri: url, description: text, required: { type: 'boolean' }, params: { type: 'object' },
        }),
      },
    }),
    securitySchemes: { type: 'object', additionalProperties: securityScheme },
    securityRequirements: requirements,
    defaultInputModes: { ...texts, minItems: 1 },
    defaultOutputModes: { ...texts, minItems: 1 },
    skills: {
      type: 'array',
      minItems: 1,
      items: closed(['id', 'name', 'description', 'tags'], {
        id: text,
        name: text,
        description: text,
        tags: { ...texts, minItems: 1 },
        examples: texts,
        inputModes: texts,
        outputModes: texts,
        securityRequirements: requirements,
      }),
    },
    signatures: {
      type: 'array',
      items: closed(['protected', 'signature'], { protected: text, signature: text, header: { type: 'object' } }),
    },
    iconUrl: url,
  },
);
