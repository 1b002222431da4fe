import { Secret } from '@libs/contracts';
import type { CallableApi } from '../dialects/dialect-pairs';
import { formatUsd } from '../pricing/money';
import { CallerCredentials, type CredentialVault } from '../routing/caller-credentials';
import type { Api } from '../catalogue/catalogue';
import { SharedCredentials, type OwnCredential } from '../routing/credential-source';
import { aModel, anEndpoint, anEngine, anOwnCredential, aProvider, FakeUpstream, FIXTURE_KEY } from '../testing';

const OWN_KEY = 'sk-own-0123456789abcdef';
const OWNER = { organizationId: 'organization', workspaceId: 'workspace', apiKeyHash: 'hash' };

const own = anOwnCredential();

/** One workspace with one key, and all it was asked. */
class FakeVault implements CredentialVault {
  readonly asked: unknown[] = [];
  readonly told: unknown[] = [];
  credential = own;
  key: Secret | null = new Secret(OWN_KEY);

  credentialsOf(...scope: unknown[]): readonly OwnCredential[] {
    this.asked.push(scope);
    return [this.credential];
  }

  async open(...question: unknown[]): Promise<Secret | null> {
    this.asked.push(question);
    return this.key;
  }

  noteVerdict(...verdict: unknown[]): void {
    this.told.push(verdict);
  }
}

/** 100 tokens at one dollar and 50 at two dollars per million: 0.0002 dollars by the list. */
const ANSWERS: Partial<Record<Api, object>> = {
  chat: {
    id: 'u1',
    object: 'chat.completion',
    created: 1,
    model: 'acme',
    choices: [{ index: 0, message: { role: 'assistant', content: 'Hello.' }, finish_reason: 'stop' }],
    usage: { prompt_tokens: 100, completion_tokens: 50, total_tokens: 150 },
  },
  responses: {
    id: 'u1',
    object: 'response',
    created_at: 1,
    status: 'completed',
    model: 'acme',
    output: [],
    usage: { input_tokens: 100, output_tokens: 50, total_tokens: 150 },
  },
  messages: {
    id: 'u1',
    type: 'message',
    role: 'assistant',
    model: 'acme',
    content: [{ type: 'text', text: 'Hello.' }],
    stop_reason: 'end_turn',
    usage: { input_tokens: 100, output_tokens: 50 },
  },
};

const BODIES: Partial<Record<CallableApi, object>> = {
  chat: { messages: [{ role: 'user', content: 'Hello!' }] },
  responses: { input: 'Hello!' },
  messages: { messages: [{ role: 'user', content: 'Hello!' }], max_tokens: 100 },
};

let upstream: FakeUpstream;
let vault: FakeVault;

beforeEach(async () => {
  upstream = await FakeUpstream.start();
  vault = new FakeVault();
});

afterEach(() => upstream.close());

/** Asks an upstream that speaks one API for a caller of another. */
async function ask(
  api: CallableApi,
  spoken: Api,
  parts: object = {},
  scope: object = OWNER,
  prepare: () => void = () => undefined,
  members: object = {},
) {
  upstream.answers(200, JSON.stringify(ANSWERS[spoken]));
  prepare();
  const provider = aProvider({ baseUrl: upstream.baseUrl, ...(spoken === 'messages' && { protocol: 'anthropic' }) });
  const shared = new SharedCredentials({ ACME_API_KEY: FIXTURE_KEY });
  const { engine, http } = anEngine([aModel({ endpoints: [anEndpoint({ provider, apis: [spoken] })] })], {
    credentials: new CallerCredentials(shared, vault),
    ...parts,
  });
  const body = Buffer.from(JSON.stringify({ model: 'acme/large', ...BODIES[api], ...members }));
  const { signal } = new AbortController();
  try {
    const request = { generationId: 'gen-1-abc', model: 'acme/large', body, signal, scope };
    const result = await engine.answer(api, request);
    return { result, usage: (JSON.parse(result.body.toString()) as { usage: Record<string, unknown> }).usage };
  } finally {
    await http.close();
  }
}

const keysSent = (): unknown[] => upstream.requests.map(({ headers }) => headers.authorization ?? headers['x-api-key']);

describe(CallerCredentials.name, () => {
  it('asks for the keys of the caller, and calls with the one that serves', async () => {
    await ask('chat', 'chat');
    expect(vault.asked).toEqual([
      ['organization', 'workspace'],
      ['own', OWNER],
    ]);
    expect(keysSent()).toEqual([`Bearer ${OWN_KEY}`]);
  });

  it('goes on with shared capacity when the key is gone in between', async () => {
    vault.key = null;
    const { usage } = await ask('chat', 'chat');
    expect(keysSent()).toEqual([`Bearer ${FIXTURE_KEY}`]);
    expect(usage).toMatchObject({ is_byok: false, cost: 0.0002, cost_details: { upstream_inference_cost: null } });
  });

  it('has none for whoever belongs to no workspace', async () => {
    await ask('chat', 'chat', {}, {});
    expect(vault.asked).toEqual([]);
    expect(keysSent()).toEqual([`Bearer ${FIXTURE_KEY}`]);
  });
});

describe('a key that its provider refuses', () => {
  const workspace = { organizationId: OWNER.organizationId, workspaceId: OWNER.workspaceId };

  /** An upstream that refuses the caller's own key, and takes the operator's. */
  function refusing(status: number): void {
    const takes = upstream.behaviour;
    upstream.behaviour = (response, request) => {
      if (request.headers.authorization !== `Bearer ${OWN_KEY}`) return takes(response, request);
      response.writeHead(status, { 'content-type': 'application/json' }).end('{"error":{"message":"No."}}');
    };
  }

  it.each([401, 403] as const)('with %d is told of, and gives way to shared capacity', async (status) => {
    await ask('chat', 'chat', {}, OWNER, () => refusing(status));
    expect(keysSent()).toEqual([`Bearer ${OWN_KEY}`, `Bearer ${FIXTURE_KEY}`]);
    expect(vault.told).toEqual([['own', workspace, vault.key, status]]);
  });

  it.each([401, 403])('with %d is for the caller to mend where nothing else is left', async (status) => {
    vault.credential = { ...own, isByokOnly: true };
    const asked = ask('chat', 'chat', {}, OWNER, () => refusing(status));
    await expect(asked).rejects.toMatchObject({
      code: 'authentication',
      message: 'The provider refuses your own key: see last_error of the credential',
    });
    expect(keysSent()).toEqual([`Bearer ${OWN_KEY}`]);
  });

  it.each([
    [402, 'payment_required', 'The account of your own key at the provider has no credit, or is suspended'],
    [503, 'provider_overloaded', 'The provider is overloaded'],
  ])('is not meant by %d, which is %s where nothing else is left', async (status, code, message) => {
    vault.credential = { ...own, isByokOnly: true };
    await expect(ask('chat', 'chat', {}, OWNER, () => refusing(status))).rejects.toMatchObject({ code, message });
    expect(vault.told).toEqual([]);
  });

  it('is not what failed where shared capacity fails after it', async () => {
    const asked = ask('chat', 'chat', {}, OWNER, () => {
      upstream.behaviour = (response, request) => {
        response.writeHead(request.headers.authorization === `Bearer ${OWN_KEY}` ? 401 : 503).end('{}');
      };
    });
    await expect(asked).rejects.toMatchObject({ code: 'provider_overloaded' });
  });

  it.each([402, 404, 429, 500, 503])('is another than one of a provider that answers %d', async (status) => {
    await ask('chat', 'chat', {}, OWNER, () => refusing(status));
    expect(vault.told).toEqual([]);
  });

  it('is passed over for as long as it is said to be', async () => {
    vault.credential = { ...own, wasRefused: true, refusedForMs: 60_000 };
    await ask('chat', 'chat');
    expect(keysSent()).toEqual([`Bearer ${FIXTURE_KEY}`]);
    expect(vault.told).toEqual([]);
  });

  it.each([{ isByokOnly: true }, { isRequired: true }])('keeps shared capacity away all the same: %j', async (rule) => {
    vault.credential = { ...own, ...rule, wasRefused: true, refusedForMs: 60_000 };
    await expect(ask('chat', 'chat')).rejects.toMatchObject({
      code: 'authentication',
      message: 'The provider refuses your own key: see last_error of the credential',
      retryAfterSeconds: 60,
      availability: { code: 'temporarily_unavailable', retryable: true },
    });
    expect(keysSent()).toEqual([]);
  });

  it('is told of once it is taken again; of a key that always works nobody is told', async () => {
    await ask('chat', 'chat');
    expect(vault.told).toEqual([]);
    vault.credential = { ...own, wasRefused: true };
    await ask('chat', 'chat');
    expect(vault.told).toEqual([['own', workspace, vault.key, 'accepted']]);
  });
});

describe('a line of a batch that only a key of the caller’s own can pay', () => {
  const TOOL = { tools: [{ type: 'image_generation' }] };
  const NAMED = { prompt: { id: 'pmpt_1' } };

  async function callLine(members: object, isForOwnKey = true) {
    upstream.behaviour = (response, { headers }) => {
      const isRefused = headers.authorization === `Bearer ${OWN_KEY}`;
      response.writeHead(isRefused ? 401 : 200).end(isRefused ? '{}' : JSON.stringify(ANSWERS.responses));
    };
    const endpoint = anEndpoint({ provider: aProvider({ baseUrl: upstream.baseUrl }), apis: ['responses'] });
    const shared = new SharedCredentials({ ACME_API_KEY: FIXTURE_KEY });
    const { engine, http } = anEngine([], { credentials: new CallerCredentials(shared, vault) });
    const body = Buffer.from(JSON.stringify({ model: 'acme/large', ...BODIES.responses, ...members }));
    const { signal } = new AbortController();
    const request = { generationId: 'gen-1-abc', body, signal, scope: OWNER, isForOwnKey };
    try {
      return await engine.callEndpoint('responses', { model: aModel({ endpoints: [endpoint] }), endpoint }, request);
    } finally {
      await http.close();
    }
  }

  it.each([TOOL, NAMED])('does not give way to shared capacity where the key is refused: %j', async (members) => {
    await expect(callLine(members)).rejects.toMatchObject({ code: 'authentication' });
    expect(keysSent()).toEqual([`Bearer ${OWN_KEY}`]);
  });

  it.each([
    [TOOL, 'tools[0]'],
    [NAMED, 'prompt.id'],
  ])('is refused by name where the key is known to be refused, or is gone: %j', async (members, param) => {
    for (const change of [{ wasRefused: true, refusedForMs: 60_000 }, { isDisabled: true }]) {
      vault.credential = { ...own, ...change };
      await expect(callLine(members)).rejects.toMatchObject({ code: 'invalid_request', metadata: { param } });
    }
    expect(keysSent()).toEqual([]);
  });

  it('gives way to shared capacity where that can be paid', async () => {
    expect((await callLine({})).credential).toBeNull();
    expect(keysSent()).toEqual([`Bearer ${OWN_KEY}`, `Bearer ${FIXTURE_KEY}`]);
  });
});

describe('the cost of a call on a caller’s own key', () => {
  const parts = { chat: 'prompt completions', responses: 'input output', messages: 'prompt completions' };

  it.each([
    ['chat', 'chat'],
    ['chat', 'messages'],
    ['responses', 'responses'],
    ['responses', 'chat'],
    ['messages', 'messages'],
    ['messages', 'chat'],
  ] as const)('is a share of the list price, for callers of %s of a provider of %s', async (api, spoken) => {
    const { result, usage } = await ask(api, spoken);
    const [input, output] = parts[api].split(' ');
    expect(usage).toMatchObject({
      is_byok: true,
      cost: 0.00001,
      cost_details: {
        upstream_inference_cost: 0.0002,
        [`upstream_inference_${input}_cost`]: 0.0001,
        [`upstream_inference_${output}_cost`]: 0.0001,
      },
    });
    expect(formatUsd(result.cost.totalCost)).toBe('0.00001');
    expect(result.credential).toBe(own);
  });

  it.each([['chat'], ['messages']] as const)('asks for the tier that its caller pays for, in %s', async (spoken) => {
    const wanted = { service_tier: 'priority' };
    await ask('chat', spoken, {}, OWNER, undefined, wanted);
    await ask('chat', spoken, {}, OWNER, () => (vault.credential = { ...own, isDisabled: true }), wanted);
    const tiers = upstream.requests.map(({ body }) => (JSON.parse(body) as { service_tier?: string }).service_tier);
    expect(tiers).toEqual([spoken === 'chat' ? 'priority' : 'auto', undefined]);
  });

  it('is the share that the operator set', async () => {
    const { usage } = await ask('chat', 'chat', { byokFee: 0n });
    expect(usage).toMatchObject({ is_byok: true, cost: 0, cost_details: { upstream_inference_cost: 0.0002 } });
  });
});
