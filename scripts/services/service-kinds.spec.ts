import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { root } from '../checkout';
import { withPath } from './find-services';
import { SERVICE_KINDS, withoutPassword, type ServiceName } from './service-kinds';

interface RabbitDefinitions {
  readonly users: readonly { readonly name: string; readonly password_hash: string; readonly tags: string }[];
}

describe('the login to a container of docker-compose.yml', () => {
  const compose = readFileSync(join(root, 'docker-compose.yml'), 'utf8');
  const loginTo = (name: ServiceName): URL => new URL(SERVICE_KINDS[name].containerUrl('127.0.0.1:1'));

  it('is the one that PostgreSQL is started with', () => {
    const { services } = parse(compose, { merge: true }) as {
      services: { postgres: { environment: { POSTGRES_PASSWORD: string } } };
    };
    const { username, password } = loginTo('postgres');
    expect([username, password]).toEqual(['postgres', services.postgres.environment.POSTGRES_PASSWORD]);
  });

  it('is that of the administrator among the users that RabbitMQ loads, which leave no default user', () => {
    const [file] = /k8s\/\S+broker-definitions\.json/.exec(compose)!;
    const { users } = JSON.parse(readFileSync(join(root, file), 'utf8')) as RabbitDefinitions;
    const { username, password } = loginTo('rabbitmq');
    const { password_hash: stored, tags } = users.find(({ name }) => name === username)!;
    const salt = Buffer.from(stored, 'base64').subarray(0, 4);
    const digest = createHash('sha256').update(salt).update(password).digest();
    expect([Buffer.concat([salt, digest]).toString('base64'), tags]).toEqual([stored, 'administrator']);
  });
});

describe(withoutPassword.name, () => {
  it.each([
    ['postgres://postgres:p%40ss@127.0.0.1:5432/postgres', 'postgres://postgres:***@127.0.0.1:5432/postgres'],
    ['redis://:secret@127.0.0.1:6379', 'redis://:***@127.0.0.1:6379'],
    ['postgres://postgres@127.0.0.1:5432/postgres', 'postgres://postgres@127.0.0.1:5432/postgres'],
    ['redis://127.0.0.1:6379', 'redis://127.0.0.1:6379'],
    ['hunter2', '(not a URL)'],
  ])('prints %s as %s', (url, printed) => {
    expect(withoutPassword(url)).toBe(printed);
  });

  it('hides a password that holds an unescaped @', () => {
    expect(withoutPassword('postgres://u:a@b@host/db')).not.toContain('a@b');
  });
});

describe(withPath.name, () => {
  it('names another database of the same server, with login and options kept', () => {
    expect(withPath('postgres://u:p@127.0.0.1:5432/postgres?sslmode=disable', '/sluice')).toBe(
      'postgres://u:p@127.0.0.1:5432/sluice?sslmode=disable',
    );
  });
});
