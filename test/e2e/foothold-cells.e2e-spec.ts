import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect, type Channel } from 'amqplib';
import {
  APP_NAMES,
  CreateKey,
  ListKeys,
  NoteKeyVerdict,
  OpenCredential,
  OpenWebhookSecrets,
  RotateWebhookSecret,
  type AppName,
  type CallContract,
} from '@libs/contracts';
import { sqlStateOf, type Database } from '@libs/persistence';
import { AppDatabases } from '@libs/persistence/testing';
import { startBroker, urlOf, type InstallationBroker } from '../support/broker';

/**
 * Cells of the table in SECURITY.md that follow from rights: what the login and the broker user of each app may do, on a
 * real PostgreSQL and RabbitMQ, and what they may not.
 */
type Attempt = (app: AppName) => Promise<boolean>;

const REFUSED_BY_BROKER = 403;
const REFUSED_BY_DATABASE = '42501';
const MESSAGE = Buffer.from('{}');

let folder: string;
let broker: InstallationBroker;
let databases: AppDatabases;
let logins: Readonly<Record<AppName, Database>>;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'sluice-cells-'));
  [broker, databases] = await Promise.all([startBroker(folder, false), AppDatabases.create()]);
  logins = await databases.connectApps();
});

afterAll(async () => {
  await databases?.close();
  await broker?.stop();
  rmSync(folder, { recursive: true, force: true });
});

/** As the login itself or a role that it may switch to. What a statement does is undone. */
const sql =
  (statement: string): Attempt =>
  async (app) => {
    const role = `sluice_${app.replaceAll('-', '_')}`;
    const tried = ['NONE', role, `${role}_tenant`].map((one) => isPermitted(logins[app], one, statement));
    return (await Promise.all(tried)).includes(true);
  };

async function isPermitted(login: Database, role: string, statement: string): Promise<boolean> {
  const undone = new Error('undone');
  const failure = await login
    .transaction(async (session) => {
      await session.client.query(`SET LOCAL ROLE ${role}`).catch(() => {
        throw undone;
      });
      await session.client.query(statement);
      return null;
    })
    .catch((error: unknown) => error);
  if (failure === undone) return false;
  return failure === null || sqlStateOf(failure) !== REFUSED_BY_DATABASE;
}

/** Whatever is not there yet: RabbitMQ looks at rights first. */
const onBroker =
  (attempt: (channel: Channel) => unknown): Attempt =>
  async (app) => {
    const connection = await connect(urlOf(app, broker, broker.url));
    try {
      const channel = await connection.createChannel();
      const closed = new Promise<number>((resolve) => {
        channel.on('error', ({ code }: { code: number }) => resolve(code));
      });
      const done = async (): Promise<number> => {
        await attempt(channel);
        await channel.checkExchange('amq.direct');
        return 0;
      };
      return (await Promise.race([closed, done().catch(() => closed)])) !== REFUSED_BY_BROKER;
    } finally {
      await connection.close();
    }
  };

const sends = (exchange: string): Attempt => onBroker((channel) => channel.publish(exchange, 'x', MESSAGE));
const takes = (queue: string): Attempt => onBroker((channel) => channel.get(queue));
const deletesQueue = (queue: string): Attempt => onBroker((channel) => channel.deleteQueue(queue));
const deletesExchange = (exchange: string): Attempt => onBroker((channel) => channel.deleteExchange(exchange));

const asks =
  <Q extends object, R extends object>({ askedBy, queue }: CallContract<Q, R>): Attempt =>
  async (app) =>
    askedBy.includes(app) && (await sends(`${queue.owner}.calls`)(app));

const SENDERS = ['gateway', 'batch-worker', 'video-worker'] as const;

const SQL_CELLS: readonly (readonly [cell: string, may: readonly AppName[], attempt: Attempt])[] = [
  ['writes keys', ['auth'], sql('UPDATE api_keys SET disabled = false')],
  ['writes workspaces and policies', ['auth'], sql('UPDATE workspaces SET policy = NULL')],
  ['writes budgets', ['auth'], sql('DELETE FROM workspace_budgets')],
  ['reads sealed credentials', ['credentials'], sql('SELECT sealed_key FROM credentials')],
  ['reads webhook secrets', ['credentials'], sql('SELECT wrapped_data_key FROM webhook_secrets')],
  ['stores verdicts on keys', ['credentials'], sql('UPDATE credentials SET disabled = false')],
  ['hides a change of access', ['auth'], sql('DELETE FROM access_feed_entries')],
  ['sees prompts of calls', ['gateway'], sql('SELECT input FROM generation_contents')],
  ['sees prompts of batches', ['gateway', 'batch-worker'], sql('SELECT body FROM batch_lines')],
  ['sees prompts of videos', ['gateway', 'video-worker'], sql('SELECT request FROM videos')],
];

const BROKER_CELLS: typeof SQL_CELLS = [
  ['creates keys', ['gateway'], asks(CreateKey)],
  ['lists keys', ['gateway', 'credentials'], asks(ListKeys)],
  ['opens provider keys', SENDERS, asks(OpenCredential)],
  ['replaces webhook secrets', ['gateway'], asks(RotateWebhookSecret)],
  ['opens webhook secrets', ['video-worker'], asks(OpenWebhookSecrets)],
  ['has a key passed over', SENDERS, asks(NoteKeyVerdict)],
  ['answers batch-worker', ['batch-worker', 'credentials', 'auth'], sends('replies.batch-worker')],
  ['answers video-worker', ['video-worker', 'credentials'], sends('replies.video-worker')],
  ['announces changes of access', ['auth'], sends('changes.access')],
  ['announces changes of credentials', ['credentials'], sends('changes.credentials')],
  ['sends jobs of batches', SENDERS, sends('batch-jobs')],
  ['sends jobs of videos', SENDERS, sends('video-jobs')],
  ['sends jobs of webhooks', SENDERS, sends('webhook-jobs')],
  ['takes jobs of batches', ['batch-worker'], takes('batch-jobs')],
  ['takes jobs of videos', ['video-worker'], takes('video-jobs')],
  ['deletes the queue of batches', ['batch-worker'], deletesQueue('batch-jobs')],
  ['deletes the queue of webhooks', ['video-worker'], deletesQueue('webhook-jobs')],
  ['floods auth', ['gateway', 'batch-worker', 'credentials', 'auth'], sends('auth.calls')],
  ['floods credentials', [...SENDERS, 'credentials'], sends('credentials.calls')],
  ['stops every call', ['auth'], deletesExchange('auth.calls')],
  ['stops the keys of callers', ['credentials'], deletesExchange('credentials.calls')],
];

async function thoseWhoMay(attempt: Attempt): Promise<readonly AppName[]> {
  const may = await Promise.all(APP_NAMES.map(attempt));
  return APP_NAMES.filter((_, at) => may[at]).toSorted();
}

describe('only the apps that the table names', () => {
  it.each(SQL_CELLS)('%s by SQL', async (_cell, may, attempt) => {
    expect(await thoseWhoMay(attempt)).toEqual(may.toSorted());
  });

  it.each(BROKER_CELLS)('%s on the broker', async (_cell, may, attempt) => {
    if (!broker.hasUsers) return;
    expect(await thoseWhoMay(attempt)).toEqual(may.toSorted());
  });
});
