import { APP_NAMES, appSpecs, type DevelopmentPlan } from './app-specs';

const planWith = (environment: NodeJS.ProcessEnv): DevelopmentPlan => ({
  root: 'checkout',
  stateFolder: 'checkout/.sluice',
  environment,
  serviceUrls: { DATABASE_URL: 'd', AMQP_URL: 'a', REDIS_URL: 'r' },
  ports: { gateway: 8_080, sandbox: 4_010, health: {} } as unknown as DevelopmentPlan['ports'],
  secrets: { BROKER_KEYS: { privateKeys: {}, publicKeys: '' } } as unknown as DevelopmentPlan['secrets'],
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
});
