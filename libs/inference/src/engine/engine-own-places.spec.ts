import { connect } from 'node:net';
import { Secret } from '@libs/contracts';
import type { AppError } from '@libs/errors';
import type { EngineParts } from './engine';
import { NativeBatchCaller } from './native-batch-caller';
import { createProviderAdapters } from '../providers';
import { GoogleVertexProvider } from '../providers/google-vertex.provider';
import { aServiceAccount, startTokenEndpoint, tokensFrom } from '../providers/testing/service-account';
import { UpstreamHttp, type ConnectOwnPlace } from '../wire/upstream-http';
import { CallerCredentials } from '../routing/caller-credentials';
import type { Endpoint, Provider } from '../catalogue/catalogue';
import { SharedCredentials, type OwnCredential } from '../routing/credential-source';
import {
  aModel,
  anEndpoint,
  anEngine,
  anOwnCredential,
  aProvider,
  aTranscription,
  FakeUpstream,
  textOf,
} from '../testing';

const SCOPE = { organizationId: 'organization', workspaceId: 'workspace', apiKeyHash: 'hash' };
const OPERATOR_KEY = 'operator-key-0123456789';
const CHAT_ANSWER = {
  id: 'u1',
  object: 'chat.completion',
  created: 1,
  model: 'acme',
  choices: [{ index: 0, message: { role: 'assistant', content: 'Hello.' }, finish_reason: 'stop' }],
  usage: { prompt_tokens: 100, completion_tokens: 50, total_tokens: 150 },
};
const EMBEDDING_ANSWER = {
  object: 'list',
  model: 'acme',
  data: [{ object: 'embedding', index: 0, embedding: [0.5] }],
  usage: { prompt_tokens: 3, total_tokens: 3 },
};
const CONVERSE_ANSWER = {
  output: { message: { role: 'assistant', content: [{ text: 'Hello.' }] } },
  stopReason: 'end_turn',
  usage: { inputTokens: 100, outputTokens: 50, totalTokens: 150 },
};
const GEMINI_ANSWER = {
  candidates: [{ content: { role: 'model', parts: [{ text: 'Hello.' }] }, finishReason: 'STOP' }],
  usageMetadata: { promptTokenCount: 100, candidatesTokenCount: 50, totalTokenCount: 150 },
};
const AZURE = {
  slug: 'azure',
  protocol: 'azure',
  baseUrl: 'https://your-resource.openai.azure.invalid/openai/v1',
  headers: { 'x-operator': OPERATOR_KEY },
};
const BEDROCK = {
  slug: 'amazon-bedrock',
  protocol: 'bedrock',
  baseUrl: 'https://bedrock-runtime.us-east-1.amazonaws.com',
  headers: { 'x-operator': OPERATOR_KEY },
};
const AWS_KEYS = { accessKeyId: 'AKIA0123456789ABCDEF', secretAccessKey: 'own-secret', region: 'eu-west-1' };
const RESOURCE = { api_key: 'own-azure-key', resource_name: 'tenant', resource_type: 'openai' };
const DEPLOYMENT = {
  api_key: 'own-deployment-key',
  model_slug: 'acme/large',
  endpoint_url: 'https://tenant2.services.ai.azure.com/openai/deployments/my-deployment/chat/completions',
  model_id: 'my-deployment',
};

describe('the place that a key of the caller names', () => {
  let upstream: FakeUpstream;
  /** Hosts that were connected to. */
  let hosts: string[];
  let http: { close(): Promise<void> } | null;

  beforeEach(async () => {
    upstream = await FakeUpstream.start();
    hosts = [];
    http = null;
  });

  afterEach(async () => {
    await http?.close();
    await upstream.close();
  });

  const connectOwnPlace: ConnectOwnPlace = ({ hostname, port }, connected) => {
    hosts.push(port ? `${hostname}:${port}` : hostname);
    const socket = connect(Number(new URL(upstream.origin).port), '127.0.0.1', () => connected(null, socket));
    socket.once('error', (error) => connected(error, null));
  };

  function engineFor(
    key: unknown,
    provider: Partial<Provider>,
    endpoint: Partial<Endpoint> = {},
    answer: object = CHAT_ANSWER,
    parts: Partial<EngineParts> = {},
    settings: Partial<OwnCredential> = {},
    connector: ConnectOwnPlace | null = connectOwnPlace,
  ) {
    const found = anEndpoint({ provider: aProvider({ apiKeyEnv: 'OPERATOR', ...provider }), ...endpoint });
    const model = aModel({ endpoints: [found] });
    const credential = anOwnCredential({ provider: found.provider.slug, isByokOnly: true, ...settings });
    const vault = {
      credentialsOf: () => [credential],
      open: async () => new Secret(typeof key === 'string' ? key : JSON.stringify(key)),
      noteVerdict: () => undefined,
    };
    upstream.behaviour = (response) => response.end(JSON.stringify(answer));
    const made = anEngine(
      [model],
      { credentials: new CallerCredentials(new SharedCredentials({ OPERATOR: OPERATOR_KEY }), vault), ...parts },
      connector === null ? {} : { connectOwnPlace: connector },
    );
    http = made.http;
    return made.engine;
  }

  const request = (body: object, more: object = {}) => ({
    generationId: 'gen-1',
    model: 'acme/large',
    body: Buffer.from(JSON.stringify({ model: 'acme/large', ...body })),
    signal: new AbortController().signal,
    scope: SCOPE,
    ...more,
  });
  const chat = { messages: [{ role: 'user', content: 'Hello?' }] };

  it('K1: calls an own Azure resource at its host with its key', async () => {
    await engineFor([RESOURCE], AZURE, { upstreamModel: 'gpt-5' }).answer('chat', request(chat));
    expect(hosts).toEqual(['tenant.openai.azure.com']);
    const [made] = upstream.requests;
    expect(made).toMatchObject({ path: '/openai/v1/chat/completions', headers: { 'api-key': 'own-azure-key' } });
    expect(made!.headers.host).toBe('tenant.openai.azure.com');
    expect(JSON.parse(made!.body)).toMatchObject({ model: 'gpt-5' });
    expect(JSON.stringify(upstream.requests)).not.toContain(OPERATOR_KEY);
  });

  it('K1: calls the deployment that an entry names for the model, in preference to a resource', async () => {
    await engineFor([RESOURCE, DEPLOYMENT], AZURE).answer('chat', request(chat));
    expect(hosts).toEqual(['tenant2.services.ai.azure.com']);
    const [made] = upstream.requests;
    expect(made).toMatchObject({ path: '/openai/v1/chat/completions', headers: { 'api-key': 'own-deployment-key' } });
    expect(JSON.parse(made!.body)).toMatchObject({ model: 'my-deployment', messages: chat.messages });
  });

  it('K1: streams from an own deployment', async () => {
    const engine = engineFor([DEPLOYMENT], AZURE);
    upstream.behaviour = (response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      const chunk = { id: 'u1', object: 'chat.completion.chunk', created: 1, model: 'acme' };
      const delta = { ...chunk, choices: [{ index: 0, delta: { content: 'Hello.' }, finish_reason: 'stop' }] };
      const usage = { ...chunk, choices: [], usage: CHAT_ANSWER.usage };
      response.end(`data: ${JSON.stringify(delta)}\n\ndata: ${JSON.stringify(usage)}\n\ndata: [DONE]\n\n`);
    };
    const { stream } = await engine.stream('chat', request({ ...chat, stream: true }));
    const text = await textOf(stream);
    expect(text).toContain('Hello.');
    expect(hosts).toEqual(['tenant2.services.ai.azure.com']);
    expect(JSON.parse(upstream.requests[0]!.body)).toMatchObject({ model: 'my-deployment', stream: true });
  });

  it('K1: embeds with an own deployment', async () => {
    const engine = engineFor([DEPLOYMENT], AZURE, {}, EMBEDDING_ANSWER);
    await engine.answer('embeddings', request({ input: 'Hello' }));
    expect(hosts).toEqual(['tenant2.services.ai.azure.com']);
    expect(upstream.requests[0]!.path).toBe('/openai/v1/embeddings');
    expect(JSON.parse(upstream.requests[0]!.body)).toMatchObject({ model: 'my-deployment' });
  });

  it('K2: sends a Bedrock call to the region of the key and signs it for that region', async () => {
    const endpoint = { upstreamModel: 'amazon.nova-pro-v1:0', region: 'us-east-1' };
    await engineFor(AWS_KEYS, BEDROCK, endpoint, CONVERSE_ANSWER).answer('chat', request(chat));
    expect(hosts).toEqual(['bedrock-runtime.eu-west-1.amazonaws.com']);
    const [made] = upstream.requests;
    expect(made!.headers.host).toBe('bedrock-runtime.eu-west-1.amazonaws.com');
    expect(made!.headers.authorization).toMatch(
      /Credential=AKIA0123456789ABCDEF\/\d{8}\/eu-west-1\/bedrock\/aws4_request/,
    );
    expect(JSON.stringify(upstream.requests)).not.toContain(OPERATOR_KEY);
  });

  it('K3: calls Vertex AI in the region and the project of the document', async () => {
    const key = aServiceAccount({ project_id: 'tenant-project', region: 'europe-west4' });
    const provider = {
      slug: 'google-vertex',
      protocol: 'google-vertex',
      baseUrl: 'https://aiplatform.googleapis.com/v1/projects/operators-own/locations/global',
    };
    const tokens = await startTokenEndpoint();
    const ownHttp = new UpstreamHttp({ connectOwnPlace });
    const adapters = new Map([['google-vertex', new GoogleVertexProvider(ownHttp, tokensFrom(tokens, ownHttp))]]);
    const engine = engineFor(key, provider, { upstreamModel: 'gemini-pro' }, GEMINI_ANSWER, { adapters });
    try {
      await engine.answer('chat', request(chat));
    } finally {
      await Promise.all([ownHttp.close(), tokens.close()]);
    }
    expect(hosts).toEqual(['europe-west4-aiplatform.googleapis.com']);
    expect(upstream.requests.at(-1)!.path).toBe(
      '/v1/projects/tenant-project/locations/europe-west4/publishers/google/models/gemini-pro:generateContent',
    );
  });

  it('K1: transcribes with Azure speech at an own resource', async () => {
    const provider = {
      slug: 'azure/speech',
      protocol: 'azure-speech',
      baseUrl: 'https://your-resource.cognitiveservices.azure.com',
    };
    const key = [RESOURCE, { ...RESOURCE, api_key: 'own-speech-key', resource_type: 'ai_foundry' }];
    const answer = { combinedPhrases: [{ text: 'Hello.' }], phrases: [], durationMilliseconds: 1_000 };
    const engine = engineFor(key, provider, { apis: ['transcription'] }, answer);
    await engine.transcribe({ ...request({}), body: Buffer.alloc(0), transcription: aTranscription() });
    expect(hosts).toEqual(['tenant.cognitiveservices.azure.com']);
    expect(upstream.requests[0]).toMatchObject({ headers: { 'ocp-apim-subscription-key': 'own-speech-key' } });
  });

  it('sends nothing to a place in a region that a policy forbids, though the endpoint’s own region is allowed', async () => {
    const endpoint = { upstreamModel: 'amazon.nova-pro-v1:0', region: 'us-east-1' };
    const ask = (regions: readonly string[]) =>
      engineFor(AWS_KEYS, BEDROCK, endpoint, CONVERSE_ANSWER).answer('chat', {
        ...request(chat),
        policies: [{ regions }],
      });
    await expect(ask(['us'])).rejects.toMatchObject({ code: 'provider_unavailable' });
    expect(hosts).toEqual([]);
    await http!.close();
    await ask(['us', 'europe']);
    expect(hosts).toEqual(['bedrock-runtime.eu-west-1.amazonaws.com']);
  });

  it('K5: lets a key of Azure serve requests for the region that it declares', async () => {
    const ask = (declaredRegion: 'europe' | null) =>
      engineFor([DEPLOYMENT], AZURE, {}, CHAT_ANSWER, {}, { declaredRegion }).answer('chat', {
        ...request(chat),
        policies: [{ regions: ['europe'] }],
      });
    await expect(ask(null)).rejects.toMatchObject({ code: 'permission_denied' });
    expect(hosts).toEqual([]);
    await http!.close();
    await ask('europe');
    expect(hosts).toEqual(['tenant2.services.ai.azure.com']);
  });

  it('answers as for any provider that is away where the guard refuses the host, and says nothing of the key', async () => {
    const refused = Object.assign(new Error('egress: refused'), { code: 'EGRESS_REFUSED' });
    const engine = engineFor([RESOURCE], AZURE, {}, CHAT_ANSWER, {}, {}, (_options, connected) =>
      connected(refused, null),
    );
    const error = (await engine.answer('chat', request(chat)).catch((thrown: unknown) => thrown)) as AppError;
    expect(error).toMatchObject({ code: 'provider_unavailable' });
    expect(JSON.stringify([error, error.message, error.metadata, error.internal])).not.toMatch(
      /own-azure-key|tenant\./,
    );
  });

  it('calls no place of a caller’s own where nothing guards connections', async () => {
    const engine = engineFor([RESOURCE], AZURE, {}, CHAT_ANSWER, {}, {}, null);
    await expect(engine.answer('chat', request(chat))).rejects.toMatchObject({ code: 'provider_overloaded' });
  });

  it('K1: writes the lines of a batch for the own deployment', async () => {
    const endpoint = anEndpoint({ provider: aProvider(AZURE) });
    const plain = { model: aModel({ endpoints: [endpoint] }), endpoint };
    const credential = anOwnCredential({ provider: 'azure' });
    const vault = {
      credentialsOf: () => [credential],
      open: async () => new Secret(JSON.stringify([DEPLOYMENT])),
      noteVerdict: () => undefined,
    };
    const ownHttp = new UpstreamHttp({ connectOwnPlace });
    const caller = new NativeBatchCaller({
      adapters: createProviderAdapters(ownHttp),
      credentials: new CallerCredentials(new SharedCredentials({}), vault),
      clock: Date.now,
    });
    const candidate = (await caller.withKey(plain, SCOPE))!;
    const access = await caller.accessTo(candidate, SCOPE, new AbortController().signal);
    const lane = caller.laneOf('chat', access.endpoint)!;
    const line = JSON.parse(lane.write('nb-0', Buffer.from(JSON.stringify(chat))).toString()) as object;
    expect(line).toMatchObject({ body: { model: 'my-deployment' } });
    upstream.behaviour = (response) => response.end('{"id":"file-1"}');
    expect(await lane.batches.isReady!('file-1', access)).toBe(true);
    expect(hosts).toEqual(['tenant2.services.ai.azure.com']);
    expect(upstream.requests[0]).toMatchObject({ path: '/openai/v1/files/file-1' });
    await ownHttp.close();
  });
});
