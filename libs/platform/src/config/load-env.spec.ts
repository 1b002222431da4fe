import { Secret } from '@libs/contracts';
import { IsOptional } from 'class-validator';
import { Bool, CidrList, Int, Port, PublicUrl, SecretText, Text } from './env-decorators';
import { EnvError } from './env-error';
import { loadEnv } from './load-env';
import { ServicesEnv } from './services.env';

class SampleEnv extends ServicesEnv {
  override HEALTH_PORT: number = 8_099;

  @Int({ min: -5, max: 1_000 }) BATCH_CONCURRENCY: number = 64;
  @Bool() STRICT: boolean = true;
  @Port() PORT: number = 8_080;
  @PublicUrl(['https', 'http']) PUBLIC_URL: string = 'http://127.0.0.1:8080';
  @CidrList() RANGES: string[] = [];
  @SecretText({ expected: 'at least 8 characters', pattern: /^.{8,}$/ }) SIGNING_KEY: Secret;
  @IsOptional() @Text({ expected: 'a folder' }) BLOB_DIR?: string;
}

const REQUIRED = { SIGNING_KEY: 'long enough' };

function problems(source: NodeJS.ProcessEnv): string {
  try {
    loadEnv(SampleEnv, source);
  } catch (error) {
    if (error instanceof EnvError) return error.message;
    throw error;
  }
  throw new Error('the environment was accepted');
}

describe(loadEnv.name, () => {
  it('gives the defaults, those of an app before those of all apps', () => {
    const env = loadEnv(SampleEnv, REQUIRED);
    expect(env).toMatchObject({
      SERVICE_NAME: 'sluice',
      LOG_LEVEL: 'info',
      HEALTH_PORT: 8_099,
      DRAIN_DELAY_MS: 5_000,
      REDIS_KEY_PREFIX: 'sluice:',
      BATCH_CONCURRENCY: 64,
      STRICT: true,
    });
    expect(env.AMQP_URL.reveal()).toBe('amqp://guest:guest@127.0.0.1:5672/sluice');
    expect(env.BLOB_DIR).toBeUndefined();
  });

  it('reads every kind of member', () => {
    const env = loadEnv(SampleEnv, {
      ...REQUIRED,
      BATCH_CONCURRENCY: '-5',
      STRICT: 'false',
      PORT: '0',
      RANGES: '10.0.0.0/8, fd00::/8',
      BLOB_DIR: '/blobs',
      DATABASE_URL: 'postgresql://u:p@db:6432/x',
    });
    expect(env).toMatchObject({
      BATCH_CONCURRENCY: -5,
      STRICT: false,
      PORT: 0,
      RANGES: ['10.0.0.0/8', 'fd00::/8'],
      BLOB_DIR: '/blobs',
    });
    expect(env.DATABASE_URL.reveal()).toBe('postgresql://u:p@db:6432/x');
  });

  it('takes an empty variable for an unset one', () => {
    const env = loadEnv(SampleEnv, { ...REQUIRED, PORT: '', STRICT: '', AMQP_URL: '' });
    expect(env).toMatchObject({ PORT: 8_080, STRICT: true });
    expect(env.AMQP_URL.reveal()).toContain('guest');
  });

  it('names every bad variable in one message and shows no value', () => {
    const source = {
      DATABASE_URL: 'mysql://root:hunter2@db/x',
      REDIS_URL: 'hunter2',
      AMQP_URL: 'amqp:///hunter2',
      SERVICE_NAME: 'Hunter2!',
      LOG_LEVEL: 'hunter2',
      HEALTH_PORT: '65536',
      DRAIN_DELAY_MS: '5 s hunter2',
      REDIS_KEY_PREFIX: 'hunter2 ',
      BATCH_CONCURRENCY: '1001',
      STRICT: 'hunter2',
      PORT: '80.5',
      PUBLIC_URL: 'https://hunter2:hunter2@host',
      RANGES: 'hunter2,fd00::/8',
      SIGNING_KEY: 'hunter2',
    };
    const message = problems(source);
    for (const name of Object.keys(source)) expect(message).toContain(`${name} must be`);
    expect(message).toContain('LOG_LEVEL must be one of trace, debug, info, warn, error, fatal');
    expect(message).toContain('BATCH_CONCURRENCY must be a whole number from -5 to 1000');
    expect(message).toContain('DATABASE_URL must be a URL with a host, starting with postgres:// or postgresql://');
    expect(message.toLowerCase()).not.toContain('hunter2');
    expect(message).not.toMatch(/65536|1001|80\.5/);
    expect(message).not.toContain('\n');
  });

  it('says which required variable is not set', () => {
    expect(problems({})).toBe('Bad environment: SIGNING_KEY must be at least 8 characters (it is not set)');
  });

  it.each(['1e3', '+5', '0x10', ' 5', '5 ', '05', '1_000', 'NaN', 'Infinity', '-0', '٥'])(
    'does not take %p for a whole number',
    (text) => {
      expect(problems({ ...REQUIRED, BATCH_CONCURRENCY: text })).toContain('BATCH_CONCURRENCY must be');
    },
  );

  it.each(['TRUE', '1', 'yes', 'on'])('does not take %p for true or false', (text) => {
    expect(problems({ ...REQUIRED, STRICT: text })).toBe('Bad environment: STRICT must be true or false');
  });

  it('leaves other variables of the process alone', () => {
    const env = loadEnv(SampleEnv, { ...REQUIRED, PATH: '/bin', OTHER_SECRET: 'x' });
    expect(Object.keys(env)).not.toContain('OTHER_SECRET');
    expect(Object.keys(env)).not.toContain('PATH');
  });

  it('prints no secret when the env is printed', () => {
    const env = loadEnv(SampleEnv, { SIGNING_KEY: 'canary-canary', DATABASE_URL: 'postgres://a:canary@db/x' });
    expect(JSON.stringify(env)).not.toContain('canary');
    expect(String(env.SIGNING_KEY)).toBe('[redacted]');
  });

  it('cannot be changed after it was read', () => {
    const env = loadEnv(SampleEnv, REQUIRED);
    expect(() => {
      env.PORT = 1;
    }).toThrow(TypeError);
  });
});
