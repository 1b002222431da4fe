import { once } from 'node:events';
import { createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { startSandbox, type Sandbox } from '../../tools/sandbox-provider/src/start-sandbox';
import { catalogueOf, type TestModel } from '../support/catalogue';
import type { ApiClient } from '../support/client';
import { eventually } from '../support/eventually';
import { Installation } from '../support/installation';

const BOOT_MS = 240_000;
const PATIENCE_MS = 120_000;
let sandbox: Sandbox;
let hung: Server;
const sockets = new Set<Socket>();
let installation: Installation;
let client: ApiClient;

const native = (name: string, baseUrl: string): TestModel => ({
  slug: `tests/${name}`,
  provider: `native-${name}`,
  baseUrl,
  batch: 'native',
  pricing: { prompt: '0.000002', completion: '0.000004' },
  batchPricing: { prompt: '0.000001', completion: '0.000002' },
  upstreamModel: 'steady?batch_ms=300',
});

beforeAll(async () => {
  sandbox = await startSandbox({ batchMs: 200 });
  hung = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined);
    socket.resume();
  }).listen(0, '127.0.0.1');
  await once(hung, 'listening');
  const dead = `http://127.0.0.1:${(hung.address() as AddressInfo).port}/v1`;
  installation = await Installation.start({
    apps: ['auth', 'batch-worker', 'gateway'],
    catalogue: catalogueOf([native('healthy', `${sandbox.url}/v1`), native('hung', dead)]),
  });
  client = installation.client();
}, BOOT_MS);

afterAll(async () => {
  await client?.close();
  for (const socket of sockets) socket.destroy();
  hung?.close();
  await installation?.stop();
  await sandbox?.close();
}, BOOT_MS);

async function submit(name: string): Promise<string> {
  const requests = Array.from({ length: 5 }, (_, line) => ({
    custom_id: `line-${line}`,
    body: { messages: [{ role: 'user', content: `Line ${line}, please.` }], max_tokens: 32 },
  }));
  const model = `tests/${name}`;
  const { status, body, text } = await client.submitBatch({ endpoint: '/v1/chat/completions', model, requests });
  if (status !== 202) throw new Error(text);
  return body.id;
}

describe('A provider that accepts connections and answers nothing', () => {
  it('holds up no batch of another provider', async () => {
    for (let index = 0; index < 8; index += 1) await submit('hung');
    await eventually('the provider is asked', PATIENCE_MS, () => sockets.size > 0 || undefined);
    const id = await submit('healthy');
    const isCompleted = async (): Promise<true | undefined> =>
      (await client.getBatch(id)).body.status === 'completed' || undefined;
    expect(await eventually('the batch of the other provider is completed', PATIENCE_MS, isCompleted)).toBe(true);
  }, 300_000);
});
