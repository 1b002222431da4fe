import { randomBytes } from 'node:crypto';
import { FakeUpstream } from '@libs/inference/testing';
import { OtlpReceiver, type ReceivedSpan } from '@libs/platform/testing';
import { catalogueOf, type TestModel } from '../support/catalogue';
import type { ApiClient } from '../support/client';
import { eventually } from '../support/eventually';
import { Installation, PROVIDER_KEY } from '../support/installation';
import { scriptOf } from '../support/provider-scripts';

const BOOT_TIMEOUT_MS = 240_000;
/** Spans are sent every two seconds. */
const SENT_WITHIN_MS = 20_000;
const SERVER = 2;
const CLIENT = 3;
const PRODUCER = 4;
const CONSUMER = 5;
/** What nobody but the provider and the caller may see. */
const CANARY = `canary-${randomBytes(12).toString('hex')}`;

let receiver: OtlpReceiver;
let upstream: FakeUpstream;
let installation: Installation;
let client: ApiClient;

beforeAll(async () => {
  receiver = await OtlpReceiver.start();
  upstream = await FakeUpstream.start();
  upstream.behaviour = (response, { path, body }) => {
    if (path.startsWith('/weak')) {
      response.writeHead(503, { 'x-canary': CANARY }).end(JSON.stringify({ error: { message: CANARY } }));
      return;
    }
    if ((JSON.parse(body) as { stream?: boolean }).stream === true) {
      const { announcement, words, end } = scriptOf('chat', '').stream;
      response.writeHead(200, { 'content-type': 'text/event-stream' }).end(announcement + words + end);
      return;
    }
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(ANSWER));
  };
  const endpoint = (provider: string): TestModel => ({
    slug: 'tests/talk',
    provider,
    baseUrl: `${upstream.origin}/${provider}/v1`,
    pricing: { prompt: '0.000001', completion: '0.000002' },
  });
  const catalogue = catalogueOf([endpoint('strong'), { ...endpoint('weak'), slug: 'tests/weak' }]);
  installation = await Installation.start({
    catalogue,
    apps: ['auth', 'credentials', 'gateway', 'batch-worker'],
    environment: { OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url },
  });
  client = installation.client();
}, BOOT_TIMEOUT_MS);

afterAll(async () => {
  await client?.close();
  await installation?.stop();
  await upstream?.close();
  await receiver?.close();
}, BOOT_TIMEOUT_MS);

const ANSWER = {
  id: 'up-1',
  object: 'chat.completion',
  created: 1,
  model: 'talk-1',
  choices: [{ index: 0, finish_reason: 'stop', message: { role: 'assistant', content: CANARY } }],
  usage: { prompt_tokens: 11, completion_tokens: 5, total_tokens: 16 },
};

const messages = [{ role: 'user', content: CANARY }];

const newTrace = (): { traceId: string; traceparent: string } => {
  const traceId = randomBytes(16).toString('hex');
  return { traceId, traceparent: `00-${traceId}-${randomBytes(8).toString('hex')}-01` };
};

const chat = (body: object, headers: Record<string, string> = {}) =>
  client.request<{ id: string }>('POST', '/chat/completions', { model: 'tests/talk', messages, ...body }, headers);

function spansOf(traceId: string, kinds: readonly number[]): Promise<ReceivedSpan[]> {
  return eventually(`the spans of ${traceId}`, SENT_WITHIN_MS, async () => {
    const spans = receiver.spans.filter((span) => span.traceId === traceId);
    return kinds.every((kind) => spans.some((span) => span.kind === kind)) ? spans : undefined;
  });
}

describe('traces', () => {
  it('tell of a call as part of its caller’s trace, with every call to a provider', async () => {
    const { traceId, traceparent } = newTrace();
    const { body, status } = await chat({}, { traceparent });
    expect(status).toBe(200);
    const spans = await spansOf(traceId, [SERVER, CLIENT]);
    expect(spans).toHaveLength(2);
    const server = spans.find(({ kind }) => kind === SERVER)!;
    expect(server).toMatchObject({ name: 'chat tests/talk', parentSpanId: traceparent.split('-')[2] });
    expect(server.attributes).toMatchObject({
      'gen_ai.operation.name': 'chat',
      'gen_ai.provider.name': 'strong',
      'gen_ai.request.model': 'tests/talk',
      'gen_ai.response.id': body.id,
      'gen_ai.response.finish_reasons': ['stop'],
      'gen_ai.usage.input_tokens': 11,
      'gen_ai.usage.output_tokens': 5,
      'http.response.status_code': 200,
    });
    expect(server.attributes).not.toHaveProperty('error.type');
    const attempt = spans.find(({ kind }) => kind === CLIENT)!;
    expect(attempt).toMatchObject({ parentSpanId: server.spanId, attributes: { 'gen_ai.provider.name': 'strong' } });
    expect(BigInt(attempt.startTimeUnixNano) >= BigInt(server.startTimeUnixNano)).toBe(true);
    expect(BigInt(attempt.endTimeUnixNano) <= BigInt(server.endTimeUnixNano)).toBe(true);
  });

  it('tell of what went wrong, and whose fault it was', async () => {
    const { traceId, traceparent } = newTrace();
    const { status } = await chat({ model: 'tests/weak', models: ['tests/talk'] }, { traceparent });
    expect(status).toBe(200);
    const attempts = (await spansOf(traceId, [SERVER, CLIENT])).filter(({ kind }) => kind === CLIENT);
    const told = attempts.map(({ attributes }) => [attributes['gen_ai.provider.name'], attributes['error.type']]);
    expect(told).toEqual([
      ['weak', expect.stringMatching(/^5\d\d$/)],
      ['strong', undefined],
    ]);
  });

  it.each([false, true])('continue the trace that a request names in its body (stream: %s)', async (stream) => {
    const { traceId, traceparent } = newTrace();
    const [, , parentSpanId] = traceparent.split('-');
    const trace = { trace_id: traceId, parent_span_id: parentSpanId, generation_name: 'draft', attempt: 2 };
    const { body, status, headers } = await chat({ trace, stream });
    expect(status).toBe(200);
    const [server] = (await spansOf(traceId, [SERVER])).filter(({ kind }) => kind === SERVER);
    expect(server).toMatchObject({
      parentSpanId,
      attributes: { 'sluice.trace.generation_name': 'draft', 'sluice.trace.attempt': '2' },
    });
    const id = stream ? headers['x-generation-id'] : body.id;
    const recorded = await eventually('the call is recorded', SENT_WITHIN_MS, async () => {
      const answer = await client.request<{ data: { trace: object } }>('GET', `/generation?id=${String(id)}`);
      return answer.status === 200 ? answer.body.data : undefined;
    });
    expect(recorded.trace).toEqual({ ...trace, attempt: '2' });
  });

  it('reach from the submission of a batch to the worker', async () => {
    const { traceId, traceparent } = newTrace();
    const requests = [{ custom_id: CANARY, body: { messages } }];
    const submission = { endpoint: '/v1/chat/completions', model: 'tests/talk', requests };
    const { body, status } = await client.request<{ id: string }>('POST', '/batches', submission, { traceparent });
    expect(status).toBe(202);
    const spans = await spansOf(traceId, [PRODUCER, CONSUMER]);
    const producer = spans.find(({ kind }) => kind === PRODUCER)!;
    const consumer = spans.find(({ kind }) => kind === CONSUMER)!;
    expect(producer).toMatchObject({ name: 'create_batch tests/talk', attributes: { 'sluice.batch.id': body.id } });
    expect(consumer).toMatchObject({
      name: 'process batches.advance-batch',
      parentSpanId: producer.spanId,
      attributes: { 'sluice.batch.id': body.id, 'messaging.system': 'rabbitmq' },
    });
  });

  it('hold no text, no key and no header of anybody', async () => {
    const { traceId, traceparent } = newTrace();
    await chat(
      { user: CANARY, metadata: { note: CANARY } },
      { traceparent, 'x-session-id': CANARY, 'x-title': CANARY },
    );
    await spansOf(traceId, [SERVER]);
    const everything = receiver.texts.join('\n');
    expect(everything).toContain(traceId);
    for (const secret of [CANARY, PROVIDER_KEY, installation.seed.apiKey]) expect(everything).not.toContain(secret);
  });
});

describe('a receiver that is not there', () => {
  it('is no matter for callers', async () => {
    receiver.status = 503;
    const answers = await Promise.all(Array.from({ length: 50 }, () => chat({})));
    expect(answers.every(({ status }) => status === 200)).toBe(true);
    await receiver.close();
    const later = await Promise.all(Array.from({ length: 50 }, () => chat({})));
    expect(later.every(({ status }) => status === 200)).toBe(true);
    receiver = await OtlpReceiver.start();
  });
});
