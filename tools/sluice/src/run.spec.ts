import {
  CreateKey,
  CreateOrganization,
  CreateWorkspace,
  DeleteKey,
  hashApiKey,
  ListKeys,
  ListOrganizations,
  readApiKeyKind,
  UpdateKey,
  type CallContract,
} from '@libs/contracts';
import { AppError } from '@libs/errors';
import { EnvError, MessageBus, validateInstance } from '@libs/platform';
import type { Command } from './command';
import { commands } from './commands';
import type { Installation } from './installation';
import { EXIT, run } from './run';

const ORGANIZATION = '7c1f9c1e-0000-4000-8000-000000000001';
const WORKSPACE = '7c1f9c1e-0000-4000-8000-000000000002';
const HASH = 'ab'.repeat(32);
const VIDEO = 'gen-vid-1763715600-abcdefghijklmnopqrst';

class AuthBus extends MessageBus {
  organizations = 1;
  keys = 0;
  readonly asked: { name: string; request: Record<string, unknown> }[] = [];

  override async call<Q extends object, R extends object>(contract: CallContract<Q, R>, request: Q): Promise<R> {
    const wire = JSON.parse(JSON.stringify(request)) as Record<string, unknown>;
    validateInstance(contract.request, wire);
    this.asked.push({ name: contract.name, request: wire });
    return this.answer(contract.name, wire) as R;
  }

  override send(): Promise<void> {
    throw new Error('nothing is sent');
  }

  private answer(name: string, request: Record<string, unknown>): object {
    switch (name) {
      case ListOrganizations.name: {
        const organization = { id: ORGANIZATION, name: 'o', defaultWorkspaceId: WORKSPACE, createdAt: '' };
        return { organizations: this.organizations > 0 ? [organization] : [], totalCount: this.organizations };
      }
      case ListKeys.name: {
        const rest = Math.max(0, this.keys - Number(request['offset']));
        return { keys: Array.from({ length: Math.min(100, rest) }, () => this.key({})), totalCount: this.keys };
      }
      case DeleteKey.name:
        throw new AppError('not_found', 'No such key');
      case CreateOrganization.name:
        return { id: ORGANIZATION, defaultWorkspaceId: WORKSPACE };
      case CreateWorkspace.name:
        return { id: WORKSPACE, ...request };
      default:
        return this.key(request);
    }
  }

  private key(values: object): object {
    return {
      hash: HASH,
      kind: 'api',
      label: 'label',
      limitUsd: null,
      limitReset: null,
      name: 'a key',
      expiresAt: null,
      ...values,
    };
  }
}

describe(run.name, () => {
  let bus: AuthBus;
  let printed: string[];
  let complained: string[];

  beforeEach(() => {
    bus = new AuthBus();
    printed = [];
    complained = [];
  });

  function sluice(...argv: string[]): Promise<number> {
    const installation: Installation = {
      serviceName: 'sluice',
      bus: async () => bus,
      database: () => Promise.reject(new Error('no command here needs the database')),
      catalogue: () => Promise.reject(new Error('no command here needs the catalogue')),
      adminKey: () => null,
    };
    const output = { print: (text: string) => printed.push(text), complain: (text: string) => complained.push(text) };
    return run(argv, commands, installation, output);
  }

  it('prints a new key once and sends only its hash', async () => {
    expect(await sluice('keys', 'create', '--name', 'ci', '--limit', '10', '--limit-reset', 'daily')).toBe(EXIT.ok);
    const key = /sk-sluice-v1-\w+/.exec(printed.join())?.[0] ?? '';
    expect(readApiKeyKind(key)).toBe('api');
    const { name, request } = bus.asked.at(-1) ?? {};
    expect(name).toBe(CreateKey.name);
    expect(request).toMatchObject({
      organizationId: ORGANIZATION,
      hash: hashApiKey(key),
      limitUsd: '10',
      limitReset: 'daily',
    });
    expect(JSON.stringify(bus.asked)).not.toContain(key);
  });

  it.each([
    [['ledger', 'audit']],
    [['ledger', 'audit', '--full', '--json']],
    [['batches', 'check']],
    [['ledger', 'reconcile', '--provider', 'p', '--from', '2026-11-20', '--to', '2026-11-20']],
  ])('exits with 3 when %j could not look, not with the code of a finding', async (argv) => {
    expect(await sluice(...argv)).toBe(EXIT.unable);
    expect([EXIT.unable, EXIT.failure]).toEqual([3, 1]);
    expect(complained).toHaveLength(1);
  });

  it('prints one line of JSON when asked to', async () => {
    expect(await sluice('keys', 'create', '--name', 'ops', '--management', '--json')).toBe(EXIT.ok);
    expect(printed).toHaveLength(1);
    const result = JSON.parse(printed[0] ?? '') as { key: string; kind: string };
    expect(readApiKeyKind(result.key)).toBe('management');
    expect(result.kind).toBe('management');
  });

  it('takes the only organization there is, and asks which where there are several', async () => {
    const create = ['keys', 'create', '--name', 'k'] as const;
    expect(await sluice(...create)).toBe(EXIT.ok);
    bus.organizations = 2;
    expect(await sluice(...create)).toBe(EXIT.usage);
    expect(complained.join()).toContain('--organization ID is required');
    expect(await sluice(...create, '--organization', ORGANIZATION)).toBe(EXIT.ok);
    bus.organizations = 0;
    expect(await sluice(...create)).toBe(EXIT.failure);
    expect(complained.join()).toContain('organizations create');
  });

  it('reads every page of a list', async () => {
    bus.keys = 250;
    expect(await sluice('keys', 'list', '--json')).toBe(EXIT.ok);
    expect(JSON.parse(printed[0] ?? '')).toHaveLength(250);
    const offsets = bus.asked.filter(({ name }) => name === ListKeys.name).map(({ request }) => request['offset']);
    expect(offsets).toEqual([0, 100, 200]);
  });

  it('makes the slug of a workspace out of its name', async () => {
    expect(await sluice('workspaces', 'create', '--name', 'Forschung & Entwicklung Ä')).toBe(EXIT.ok);
    expect(bus.asked.at(-1)?.request).toMatchObject({ slug: 'forschung-entwicklung-a' });
    expect(await sluice('workspaces', 'create', '--name', '研究')).toBe(EXIT.usage);
    expect(await sluice('workspaces', 'create', '--name', '研究', '--slug', 'research')).toBe(EXIT.ok);
  });

  it('switches keys off and on by their hash', async () => {
    expect(await sluice('keys', 'disable', HASH)).toBe(EXIT.ok);
    expect(await sluice('keys', 'enable', HASH)).toBe(EXIT.ok);
    const updates = bus.asked.filter(({ name }) => name === UpdateKey.name).map(({ request }) => request);
    const reference = { organizationId: ORGANIZATION, hash: HASH };
    expect(updates).toEqual([
      { ...reference, disabled: true },
      { ...reference, disabled: false },
    ]);
  });

  it('passes on what the apps refuse', async () => {
    expect(await sluice('keys', 'delete', HASH, '--json')).toBe(EXIT.failure);
    expect(JSON.parse(complained[0] ?? '')).toEqual({ error: { code: 'not_found', message: 'No such key' } });
    expect(printed).toEqual([]);
  });

  it.each([
    [['keys', 'create'], '--name is required'],
    [['ledger', 'release-hold', 'batch-1'], '--reason is required'],
    [['ledger', 'release-hold', "'; DROP", '--reason', 'r'], 'ID must be'],
    [['keys', 'create', '--name', ''], '--name needs a value'],
    [['keys', 'create', '--name'], 'sluice keys create --name NAME'],
    [['keys', 'create', '--name', 'n', '--limt', '5'], 'sluice keys create --name NAME'],
    [['keys', 'create', '--name', 'n', 'more'], 'too many arguments'],
    [['keys', 'create', '--name', 'n', '--limit', '-5'], 'sluice keys create'],
    [['keys', 'create', '--name', 'n', '--limit', '1e3'], '--limit must be'],
    [['keys', 'create', '--name', 'n', '--limit', '1000000001'], '--limit must be'],
    [
      ['keys', 'create', '--name', 'n', '--limit-reset', 'hourly'],
      '--limit-reset must be one of daily, weekly, monthly',
    ],
    [['keys', 'create', '--name', 'n', '--management', '--limit', '5'], '--limit does not go with --management'],
    [['keys', 'create', '--name', 'n', '--management', '--workspace', WORKSPACE], '--workspace does not go'],
    [['keys', 'create', '--name', 'n', '--workspace', 'x'], '--workspace must be an id'],
    [['keys', 'list', '--organization', 'x'], '--organization must be an id'],
    [['keys', 'disable'], 'HASH must be given'],
    [['keys', 'disable', 'x'], 'HASH must be the 64 hex characters'],
    [['keys', 'disable', HASH, HASH], 'too many arguments'],
    [['keys', 'destroy', HASH], 'no such command'],
    [['webhooks', 'list', '--state', 'lost'], '--state must be pending, delivered or given-up'],
    [['webhooks', 'list', '--workspace', 'x'], '--workspace must be an id'],
    [['webhooks', 'redeliver'], 'ID must be given'],
    [['videos', 'resolve', '--failed'], 'ID must be given'],
    [['videos', 'resolve', 'x', '--failed'], 'ID must be that of a video'],
    [['videos', 'resolve', VIDEO], 'either --submitted UPSTREAM_ID or --failed'],
    [['videos', 'resolve', VIDEO, '--failed', '--submitted', 'up-1'], 'either --submitted UPSTREAM_ID or --failed'],
    [['videos', 'resolve', VIDEO, '--submitted', ''], '--submitted needs a value'],
    [['videos', 'resolve', VIDEO, '--submitted', 'a/../../keys'], 'UPSTREAM_ID must be'],
    [['keys'], 'no such command'],
    [[], 'sluice COMMAND'],
  ])('ends %j as wrong usage and asks nobody', async (argv, complaint) => {
    expect(await sluice(...argv)).toBe(EXIT.usage);
    expect(complained.join()).toContain(complaint);
    expect(bus.asked.filter(({ name }) => name !== ListOrganizations.name)).toEqual([]);
  });

  it('describes all commands and each of them', async () => {
    expect(await sluice('--help')).toBe(EXIT.ok);
    for (const { name } of commands) {
      expect(printed[0]).toContain(name);
      expect(await sluice(...name.split(' '), '--help')).toBe(EXIT.ok);
      expect(printed.at(-1)).toContain(`sluice ${name}`);
    }
  });

  it('ends as failed when a command found something wrong', async () => {
    const audit: Command = {
      name: 'books check',
      summary: '',
      usage: '',
      options: {},
      positionals: [],
      run: async () => ({ data: { drift: 1 }, text: 'drift', failed: true }),
    };
    const output = { print: (text: string) => printed.push(text), complain: () => undefined };
    expect(await run(['books', 'check'], [audit], {} as Installation, output)).toBe(EXIT.failure);
    expect(printed).toEqual(['drift']);
  });

  it('names the variables without which it can ask no app', async () => {
    const complaints: string[] = [];
    const installation = { bus: () => Promise.reject(new EnvError(['BROKER_PRIVATE_KEYS must be set'])) };
    const output = { print: () => undefined, complain: (text: string) => void complaints.push(text) };
    const argv = ['organizations', 'list'];
    expect(await run(argv, commands, installation as unknown as Installation, output)).toBe(EXIT.failure);
    expect(complaints.join()).toContain('BROKER_PRIVATE_KEYS must be set');
  });

  it('knows every command by a name of its own in two words', () => {
    const names = commands.map(({ name }) => name);
    expect(new Set(names).size).toBe(names.length);
    for (const name of names) expect(name).toMatch(/^[a-z]+ [a-z-]+$/);
  });
});
