import { createPrivateKey } from 'node:crypto';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { catalogFor } from './catalog-copy';
import { developmentSecrets } from './secrets';
import { StateFiles } from './state-files';

describe('the files of a development installation', () => {
  let folder: string;

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'sluice-state-'));
  });

  afterEach(() => {
    rmSync(folder, { recursive: true, force: true });
  });

  describe(catalogFor.name, () => {
    const sandbox = 'providers:\n  - slug: sandbox\n    base_url: http://127.0.0.1:4010/v1\n';

    beforeEach(() => {
      mkdirSync(join(folder, 'catalog'));
      writeFileSync(join(folder, 'catalog/sandbox.yaml'), sandbox);
      writeFileSync(join(folder, 'catalog/other.yaml'), '# port 4010 is named here, no address\n');
    });

    it('uses the catalogue of the repository when the sandbox listens where it says', () => {
      expect(catalogFor(folder, join(folder, '.sluice'), 4_010)).toBe(join(folder, 'catalog'));
    });

    it('names the real port in a copy, and changes nothing else', () => {
      const copy = catalogFor(folder, join(folder, '.sluice'), 5_555);
      expect(readFileSync(join(copy, 'sandbox.yaml'), 'utf8')).toBe(sandbox.replace('4010', '5555'));
      expect(readFileSync(join(copy, 'other.yaml'), 'utf8')).toContain('port 4010');
      expect(readFileSync(join(folder, 'catalog/sandbox.yaml'), 'utf8')).toBe(sandbox);
    });
  });

  describe(developmentSecrets.name, () => {
    const file = (): string => join(folder, 'secrets.json');

    it('makes a 32-byte key-encryption key and an ES256 signing key, readable by the owner alone', () => {
      const { CREDENTIALS_KEYRING, TOKEN_SIGNING_KEYS } = developmentSecrets(file());
      const [id, key] = CREDENTIALS_KEYRING.split(':');
      expect(id).toMatch(/^dev-[0-9a-f]{8}$/);
      expect(Buffer.from(key ?? '', 'base64')).toHaveLength(32);
      const [jwk] = JSON.parse(TOKEN_SIGNING_KEYS) as [Record<string, string>];
      expect(jwk).toMatchObject({ kty: 'EC', crv: 'P-256', alg: 'ES256', use: 'sig', kid: id });
      expect(createPrivateKey({ key: jwk as never, format: 'jwk' }).type).toBe('private');
      expect(statSync(file()).mode & 0o777).toBe(0o600);
    });

    it('keeps what it made', () => {
      expect(developmentSecrets(file())).toEqual(developmentSecrets(file()));
    });

    it('refuses a file it cannot read instead of making new keys over it', () => {
      writeFileSync(file(), 'half a fi');
      expect(() => developmentSecrets(file())).toThrow('holds the keys of this installation');
      expect(readFileSync(file(), 'utf8')).toBe('half a fi');
    });
  });

  describe(StateFiles.name, () => {
    const state = { base_url: 'u', api_key: 'a', management_key: 'm', workspace_id: 'w', pids: { gateway: 1 } };
    const urls = { DATABASE_URL: 'd', AMQP_URL: 'a', REDIS_URL: 'r' };

    it('writes the state for other commands, and takes it away at the end', () => {
      const files = new StateFiles(folder);
      expect(files.claim()).toBe(true);
      files.writeDevelopment(state);
      files.writeServices(urls);
      expect(JSON.parse(readFileSync(join(folder, 'dev.json'), 'utf8'))).toEqual(state);
      expect(statSync(join(folder, 'dev.json')).mode & 0o777).toBe(0o600);
      files.release(true);
      expect(() => readFileSync(join(folder, 'dev.json'))).toThrow('ENOENT');
      expect(files.readServices()).toEqual(urls);
    });

    it('leaves the state of another live installation alone', () => {
      new StateFiles(folder).claim();
      const second = new StateFiles(folder);
      expect(second.claim()).toBe(false);
      second.writeDevelopment(state);
      expect(() => readFileSync(join(folder, 'dev.json'))).toThrow('ENOENT');
    });

    it('takes the state over from one that has died', () => {
      writeFileSync(join(folder, 'up.json'), JSON.stringify({ pid: process.pid, startedAt: 'before this process' }));
      expect(new StateFiles(folder).claim()).toBe(true);
    });
  });
});
