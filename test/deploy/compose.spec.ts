import { createPrivateKey, type JsonWebKeyInput } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseEnv } from 'node:util';
import { parse } from 'yaml';
import { parseAppLogins } from '@libs/persistence';
import { isKnownVariable } from './known-environment';

interface Service {
  image: string;
  build?: string;
  command?: string[];
  environment?: Record<string, string>;
  env_file?: { path: string; required: boolean }[];
  ports?: string[];
  volumes?: string[];
  read_only?: boolean;
  cap_drop?: string[];
  security_opt?: string[];
  privileged?: boolean;
  network_mode?: string;
  healthcheck?: { test: string[] };
  depends_on?: Record<string, { condition: string }>;
  stop_grace_period?: string;
  restart?: string;
}

const root = join(__dirname, '../..');
const read = (path: string) => readFileSync(join(root, path), 'utf8');
const compose = parse(read('docker-compose.yml'), { merge: true }) as {
  services: Record<string, Service>;
  volumes: Record<string, unknown>;
};
const services = Object.entries(compose.services);
const healthPorts = { gateway: 8081, 'batch-worker': 8082, 'video-worker': 8083, credentials: 8084, auth: 8085 };
const apps = Object.keys(healthPorts);
const oneOff = ['catalog', 'migrate'];
/** Runs when it is asked to. */
const byHand = ['sluice'];
const own = services.filter(([, service]) => service.build !== undefined);

function serviceOf(name: string): Service {
  const service = compose.services[name];
  if (service === undefined) throw new Error(`docker-compose.yml has no ${name}`);
  return service;
}

describe('docker-compose.yml', () => {
  it('has the datastores, the one-off steps, the five apps and the sandbox provider', () => {
    const datastores = ['postgres', 'rabbitmq', 'redis'];
    expect(Object.keys(compose.services).sort()).toEqual(
      [...datastores, ...oneOff, ...byHand, ...apps, 'sandbox-provider'].sort(),
    );
  });

  it('publishes ports on loopback only, and of ours only the gateway', () => {
    const published = services.flatMap(([name, { ports = [] }]) => ports.map((port) => `${name} ${port}`));
    expect(published.sort()).toEqual([
      'gateway 127.0.0.1:8080:8080',
      'postgres 127.0.0.1:5432:5432',
      'rabbitmq 127.0.0.1:15672:15672',
      'rabbitmq 127.0.0.1:5672:5672',
      'redis 127.0.0.1:6379:6379',
    ]);
    expect(services.filter(([, it]) => it.network_mode === 'host' || it.privileged === true)).toEqual([]);
  });

  it.each(services.filter(([name]) => ![...oneOff, ...byHand].includes(name)))(
    'checks the health of %s',
    (_name, { healthcheck }) => {
      expect(healthcheck?.test[0]).toBe('CMD');
      expect(healthcheck?.test.length).toBeGreaterThan(2);
    },
  );

  it.each(Object.entries(healthPorts))('asks %s for its readiness on the health port it is given', (name, port) => {
    const { environment, healthcheck } = serviceOf(name);
    expect(environment?.HEALTH_PORT).toBe(String(port));
    expect(healthcheck?.test.at(-1)).toContain(`http://127.0.0.1:${port}/health/ready`);
  });

  it.each(apps)('starts %s as the first process, after the migration', (name) => {
    const { command, depends_on: needs } = serviceOf(name);
    expect(command).toEqual(['node', `dist/apps/${name}/main.js`]);
    expect(needs).toMatchObject({
      migrate: { condition: 'service_completed_successfully' },
      rabbitmq: { condition: 'service_healthy' },
      redis: { condition: 'service_healthy' },
    });
  });

  it('waits only for what can come true', () => {
    const waits = services.flatMap(([, { depends_on: needs = {} }]) => Object.entries(needs));
    for (const [name, { condition }] of waits) {
      const isOneOff = oneOff.includes(name);
      expect(condition).toBe(isOneOff ? 'service_completed_successfully' : 'service_healthy');
      expect(serviceOf(name).restart).toBe(isOneOff ? 'no' : 'unless-stopped');
    }
  });

  it.each(apps)('leaves %s time to drain', (name) => {
    const seconds = Number(/^(\d+)s$/.exec(serviceOf(name).stop_grace_period ?? '')?.[1]);
    expect(seconds).toBeGreaterThanOrEqual(name === 'gateway' ? 90 : 60);
  });

  it.each(own)('runs %s without privileges on a read-only root', (_name, service) => {
    expect(service).toMatchObject({ read_only: true, cap_drop: ['ALL'], security_opt: ['no-new-privileges:true'] });
  });

  it('sets no variable that nobody knows', () => {
    const names = services.flatMap(([, { environment = {} }]) => Object.keys(environment));
    expect(names).toContain('DATABASE_URL');
    expect(names.filter((name) => !isKnownVariable(name))).toEqual([]);
  });

  it('gives each secret to the app that needs it, and to no other', () => {
    const holding = (variable: string) =>
      services.filter(([, { environment = {} }]) => variable in environment).map(([name]) => name);
    const readingProviderKeys = services.filter(([, it]) => it.env_file !== undefined).map(([name]) => name);
    expect(holding('CREDENTIALS_KEYRING')).toEqual(['credentials']);
    expect(holding('TOKEN_SIGNING_KEYS')).toEqual(['auth']);
    expect(readingProviderKeys).toEqual(['gateway', 'batch-worker', 'video-worker']);
    expect(services.flatMap(([, it]) => it.env_file ?? []).every(({ path }) => path.startsWith('.sluice/'))).toBe(true);
  });

  it('starts only what has a source', () => {
    const commands = own.flatMap(([, { command = [] }]) => (command[0] === 'node' ? [command[1] ?? ''] : []));
    expect(commands.length).toBe(apps.length + 2);
    const sources = commands.map((path) =>
      path
        .replace(/^dist\/(apps\/[^/]+\/(?=main))?/, (_, app: string | undefined) => (app ? `${app}src/` : ''))
        .replace(/\.js$/, '.ts'),
    );
    expect(sources.filter((path) => !existsSync(join(root, path)))).toEqual([]);
  });

  it('finds in the shipped catalogue the sandbox address that it replaces', () => {
    const { providers } = parse(read('catalog/sandbox.yaml')) as { providers: { base_url: string }[] };
    const rewriting = [serviceOf('catalog').command?.join(' '), read('k8s/overlays/dev/catalog-for-sandbox.yaml')];
    expect(providers.length).toBeGreaterThan(0);
    expect(providers.filter((it) => !it.base_url.startsWith('http://127.0.0.1:4010/'))).toEqual([]);
    for (const text of rewriting) expect(text).toContain('s|http://127\\.0\\.0\\.1:4010|http://sandbox-provider:4010|');
  });

  it('declares every volume it mounts, and uses images with a version', () => {
    const mounted = services.flatMap(([, { volumes = [] }]) => volumes.map((volume) => volume.split(':')[0]));
    expect(new Set(mounted)).toEqual(new Set(Object.keys(compose.volumes)));
    expect(services.filter(([, { image }]) => !/:(?!latest$)[\w.-]+$/.test(image))).toEqual([]);
  });
});

describe('logins in PostgreSQL', () => {
  const inOverlay = (name: string) => parseEnv(read(`k8s/overlays/dev/secrets/${name}.env`));
  const inCompose = (name: string) => serviceOf(name).environment ?? {};

  it.each([
    ['docker-compose.yml', inCompose],
    ['the dev overlay', inOverlay],
  ])('of %s: the migration makes one for each app, and each app has its own alone', (_where, environmentOf) => {
    const made = parseAppLogins(environmentOf('migrate').DATABASE_LOGINS ?? '');
    expect(made.map(({ app }) => app).toSorted()).toEqual(apps.toSorted());
    for (const { app, login, password } of made) {
      const { DATABASE_URL, DATABASE_LOGINS } = environmentOf(app);
      expect(DATABASE_LOGINS).toBeUndefined();
      expect(new URL(DATABASE_URL ?? '')).toMatchObject({ username: login, password });
    }
    const owner = new URL(environmentOf('migrate').DATABASE_URL ?? '').username;
    expect(made.filter(({ login }) => login === owner)).toEqual([]);
  });
});

describe('development secrets', () => {
  const fromCompose = {
    keys: serviceOf('auth').environment?.TOKEN_SIGNING_KEYS,
    keyring: serviceOf('credentials').environment?.CREDENTIALS_KEYRING,
  };
  const fromOverlay = {
    keys: parseEnv(read('k8s/overlays/dev/secrets/auth.env')).TOKEN_SIGNING_KEYS,
    keyring: parseEnv(read('k8s/overlays/dev/secrets/credentials.env')).CREDENTIALS_KEYRING,
  };

  it.each([
    ['docker-compose.yml', fromCompose],
    ['the dev overlay', fromOverlay],
  ])('of %s are well formed and say what they are', (_where, { keys, keyring }) => {
    const [key, ...others] = JSON.parse(keys ?? '') as JsonWebKeyInput['key'][];
    expect(others).toEqual([]);
    expect(key).toMatchObject({ kid: 'dev-only', alg: 'ES256' });
    const signing = createPrivateKey({ key: key ?? {}, format: 'jwk' });
    expect(signing.asymmetricKeyDetails?.namedCurve).toBe('prime256v1');
    const [id, bytes = ''] = (keyring ?? '').split(':');
    expect(id).toBe('dev');
    expect(Buffer.from(bytes, 'base64').toString()).toBe('dev-only: no secret, never serve');
  });
});
