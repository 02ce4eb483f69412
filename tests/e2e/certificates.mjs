// Throw-away certificates of a test, made by the openssl command line.
import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const openssl = (...args) => execFileSync('openssl', args, { stdio: ['ignore', 'pipe', 'pipe'], timeout: 20_000 });
const newKey = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes'];
export const newRsaKey = ['-newkey', 'rsa:2048', '-nodes'];

// A CA in a folder: `file` is its certificate; issue() makes what it has signed.
export class Authority {
  constructor(folder, name = 'ca') {
    this.folder = folder;
    this.file = join(folder, `${name}.pem`);
    this.key = join(folder, `${name}.key`);
    openssl('req', '-x509', ...newKey, '-days', '2', '-subj', `/CN=${name}`, '-keyout', this.key, '-out', this.file);
  }

  get pem() { return readFileSync(this.file, 'utf8'); }

  // {cert, key}: files. `kind`: of key, EC or RSA. `names` as in an extension file: "DNS:localhost,IP:127.0.0.1".
  issue(name, { names, days = 2, kind = newKey } = {}) {
    const cert = join(this.folder, `${name}.pem`);
    const key = join(this.folder, `${name}.key`);
    const request = join(this.folder, `${name}.csr`);
    const extensions = join(this.folder, `${name}.ext`);
    writeFileSync(extensions, names ? `subjectAltName=${names}\n` : 'basicConstraints=CA:FALSE\n');
    openssl('req', ...kind, '-subj', `/CN=${name}`, '-keyout', key, '-out', request);
    openssl('x509', '-req', '-in', request, '-CA', this.file, '-CAkey', this.key, '-CAcreateserial',
      '-days', `${days}`, '-extfile', extensions, '-out', cert);
    return { cert, key };
  }

  issueServer(name = 'server', kind = newKey) { return this.issue(name, { names: 'DNS:localhost,IP:127.0.0.1', kind }); }
}
