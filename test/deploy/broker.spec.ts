import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseEnv } from 'node:util';
import { parse } from 'yaml';
import { APP_NAMES, PARTY_NAMES, Secret, type PartyName } from '@libs/contracts';
import { BrokerIdentity, MAX_CALL_BYTES, permissionsOf } from '@libs/platform';
import { commands } from '../../tools/sluice/src/commands';
import { run } from '../../tools/sluice/src/run';

const root = join(__dirname, '../..');
const read = (path: string): string => readFileSync(join(root, path), 'utf8');

/** What the command line prints, without an installation. */
async function printed(...argv: readonly string[]): Promise<string> {
  const lines: string[] = [];
  const output = { print: (text: string) => void lines.push(text), complain: (text: string) => void lines.push(text) };
  expect(await run(argv, commands, {} as never, output)).toBe(0);
  return `${lines.join('\n')}\n`;
}

const regexes = (party: PartyName) => {
  const { configure, write, read: reads } = permissionsOf(party);
  return { configure: new RegExp(configure), write: new RegExp(write), read: new RegExp(reads) };
};

describe('users of the broker', () => {
  it.each([
    ['k8s/overlays/prod/broker-permissions.json', []],
    ['k8s/overlays/dev/secrets/broker-definitions.json', ['--password', 'dev-only']],
  ])('have in %s the permissions that the contracts ask for', async (path, options) => {
    expect(read(path)).toBe(await printed('broker', 'permissions', ...options));
  });

  it.each([
    'docker-compose.yml',
    'k8s/overlays/dev/secrets/broker-definitions.conf',
    'scripts/services/private-rabbit.ts',
  ])('cannot send messages through the broker of %s that are larger than apps send', (path) => {
    expect([...read(path).matchAll(/max_message_size = (\d+)/g)].map(([, bytes]) => Number(bytes))).toEqual([
      MAX_CALL_BYTES,
    ]);
  });

  it.each(PARTY_NAMES)('cannot reach every queue: %s may not write to the default exchange', (party) => {
    const { configure, write, read: reads } = regexes(party);
    for (const name of ['amq.default', 'amq.direct', 'amq.gen-x', 'anything', '']) {
      for (const may of [configure, write, reads]) expect(may.test(name)).toBe(false);
    }
  });

  it.each(PARTY_NAMES)('cannot read what others are asked or answered: %s', (party) => {
    const others = PARTY_NAMES.filter((other) => other !== party);
    const foreign = [
      ...others.flatMap((other) => [`replies.${other}`, `replies.${other}.x`, `events.${other}.x`, `${other}.calls`]),
      ...['auth', 'auth-changes', 'auth-exchanges'].filter(() => party !== 'auth'),
      ...['credentials', 'credentials-changes'].filter(() => party !== 'credentials'),
    ];
    const { configure, read: reads } = regexes(party);
    expect(foreign.filter((name) => reads.test(name) || configure.test(name))).toEqual([]);
  });

  it('declare, read and delete only the job queues of their own', () => {
    const jobs = ['batch-jobs', 'batch-jobs.dead', 'video-jobs', 'video-jobs.dead', 'webhook-jobs'];
    const held = (party: PartyName): string[] =>
      jobs.filter((name) => regexes(party).configure.test(name) || regexes(party).read.test(name));
    expect(held('batch-worker')).toEqual(['batch-jobs', 'batch-jobs.dead']);
    expect(held('video-worker')).toEqual(['video-jobs', 'video-jobs.dead', 'webhook-jobs']);
    for (const party of ['gateway', 'auth', 'credentials', 'cli'] as const) expect(held(party)).toEqual([]);
    const feeds = ['changes.access', 'changes.credentials'];
    const declared = (party: PartyName): string[] => feeds.filter((name) => regexes(party).configure.test(name));
    expect(PARTY_NAMES.flatMap(declared)).toEqual(feeds.toReversed());
  });

  it('answer, publish and ask only where they must', () => {
    const mayWrite = (party: PartyName, names: readonly string[]): string[] =>
      names.filter((name) => regexes(party).write.test(name));
    const names = [
      'auth.calls',
      'credentials.calls',
      'auth',
      'changes.access',
      'changes.credentials',
      'replies.gateway',
    ];
    expect(mayWrite('video-worker', names)).toEqual(['credentials.calls']);
    expect(mayWrite('batch-worker', names)).toEqual(['auth.calls', 'credentials.calls']);
    expect(mayWrite('gateway', names)).toEqual(['auth.calls', 'credentials.calls', 'replies.gateway']);
    expect(mayWrite('credentials', names)).toEqual([
      'auth.calls',
      'credentials.calls',
      'changes.credentials',
      'replies.gateway',
    ]);
    expect(mayWrite('auth', names)).toEqual(['auth.calls', 'auth', 'changes.access', 'replies.gateway']);
  });
});

describe('keys on the broker', () => {
  const compose = parse(read('docker-compose.yml'), { merge: true }) as {
    services: Record<string, { environment: Record<string, string> }>;
  };

  const identityOf = (party: PartyName, environment: NodeJS.Dict<string>): BrokerIdentity =>
    BrokerIdentity.from(party, {
      BROKER_PRIVATE_KEYS: new Secret(environment['BROKER_PRIVATE_KEYS'] ?? ''),
      BROKER_PUBLIC_KEYS: environment['BROKER_PUBLIC_KEYS'] ?? '',
    });

  it.each([...APP_NAMES.map((app) => [app, app] as const), ['cli', 'sluice'] as const])(
    'make %s itself in docker-compose.yml, with the broker user of its name',
    (party, service) => {
      const { environment } = compose.services[service]!;
      expect(identityOf(party, environment).party).toBe(party);
      expect(new URL(environment['AMQP_URL']!).username).toBe(party);
    },
  );

  it.each(APP_NAMES)('make %s itself in the dev overlay, with the broker user of its name', (app) => {
    const environment = parseEnv(read(`k8s/overlays/dev/secrets/${app}.env`));
    expect(identityOf(app, environment).party).toBe(app);
    expect(new URL(environment['AMQP_URL']!).username).toBe(app);
  });

  it('are made anew by the command line, each for its own party', async () => {
    const text = await printed('broker', 'keys');
    const { BROKER_PUBLIC_KEYS } = parseEnv(text);
    const own = [...text.matchAll(/^# (\S+) alone\nBROKER_PRIVATE_KEYS=(.+)$/gm)];
    expect(own.map(([, party]) => party)).toEqual([...PARTY_NAMES]);
    for (const [, party, BROKER_PRIVATE_KEYS] of own) {
      expect(identityOf(party as PartyName, { BROKER_PRIVATE_KEYS, BROKER_PUBLIC_KEYS }).party).toBe(party);
    }
  });
});
