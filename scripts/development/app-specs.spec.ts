import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { APP_NAMES, appSpecs, type DevelopmentPlan } from './app-specs';
import { databaseLogins, developmentSecrets } from './secrets';

const planWith = (environment: NodeJS.ProcessEnv): DevelopmentPlan => ({
  root: 'checkout',
  stateFolder: 'checkout/.sluice',
  environment,
  serviceUrls: { DATABASE_URL: 'postgres://owner@host/sluice', AMQP_URL: 'a', REDIS_URL: 'r' },
  ports: { gateway: 8_080, sandbox: 4_010, health: {} } as unknown as DevelopmentPlan['ports'],
  secrets: {
    BROKER_KEYS: { privateKeys: {}, publicKeys: '' },
    DATABASE_PASSWORDS: {},
  } as unknown as DevelopmentPlan['secrets'],
  catalogPath: 'checkout/catalog',
});

describe(appSpecs.name, () => {
  const addressesOf = (environment: NodeJS.ProcessEnv): unknown[] =>
    appSpecs(planWith(environment))
      .filter(({ name }) => APP_NAMES.some((app) => app === name))
      .map((app) => app.environment['LISTEN_ADDRESS']);

  it('has every app of a development installation listen on loopback', () => {
    expect(addressesOf({})).toEqual(APP_NAMES.map(() => '127.0.0.1'));
  });

  it('has them listen where the environment says', () => {
    expect(addressesOf({ LISTEN_ADDRESS: '0.0.0.0' })).toEqual(APP_NAMES.map(() => '0.0.0.0'));
  });

  it('gives each app a login of its own, with a password that no other app has', () => {
    const secrets = developmentSecrets(join(mkdtempSync(join(tmpdir(), 'sluice-specs-')), 'secrets.json'));
    const [, ...apps] = appSpecs({ ...planWith({}), secrets });
    const urls = apps.map(({ environment }) => new URL(environment['DATABASE_URL']!));
    expect(urls.map(({ username }) => username)).toEqual([
      'login_sluice_gateway',
      'login_sluice_batch_worker',
      'login_sluice_video_worker',
      'login_sluice_credentials',
      'login_sluice_auth',
    ]);
    const logins = urls.map(({ username, password }, index) => `${APP_NAMES[index]}=${username}:${password}`);
    expect(databaseLogins('postgres://owner@host/sluice', secrets)).toBe(logins.join(','));
    for (const { environment } of apps) {
      const readable = JSON.stringify(environment);
      expect(urls.filter(({ password }) => readable.includes(password))).toHaveLength(1);
    }
  });
});
