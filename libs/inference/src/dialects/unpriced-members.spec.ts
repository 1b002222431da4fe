import { LossLog } from '../model/loss-report';
import { anEndpoint } from '../testing';
import { dialectOf } from '.';

const APIS = ['chat', 'responses', 'messages'] as const;
const DEARER: readonly (readonly [string, object, string])[] = [
  ['inference in one place', { inference_geo: 'us' }, 'inference_geo'],
  ['a live search', { search_parameters: { mode: 'on', max_search_results: 30 } }, 'search_parameters'],
  ['a web search', { enable_search: true }, 'enable_search'],
  ['settings of a web search', { search_options: { search_strategy: 'max' } }, 'search_options'],
  [
    'a dearer search',
    { web_search_options: { search_type: 'pro', search_context_size: 'low' } },
    'web_search_options.search_type',
  ],
];
const WAYS = APIS.flatMap((api) => DEARER.map(([what, asked, name]) => [what, api, asked, name] as const));
const endpoint = anEndpoint({ apis: APIS });

type Api = Parameters<typeof dialectOf>[0];

function sent(api: Api, asked: object, isOwn: boolean, log = new LossLog()): Record<string, unknown> {
  const body = Buffer.from(JSON.stringify({ model: 'm', ...(api === 'messages' && { max_tokens: 8 }), ...asked }));
  const bytes = dialectOf(api).toUpstream(body, endpoint, false, log, { isOwn, keepsNothing: false });
  return JSON.parse(bytes.toString()) as Record<string, unknown>;
}

describe('what makes a provider charge more than the catalogue says', () => {
  it.each(WAYS)('is not sent on an account of the operator: %s (%s)', (_what, api, asked, name) => {
    const log = new LossLog();
    const { web_search_options: search, ...others } = sent(api, asked, false, log);
    expect(Object.keys(others)).not.toContain(name);
    expect(search ?? {}).not.toHaveProperty('search_type');
    expect(log.report().dropped).toEqual([name]);
  });

  it.each(WAYS)('passes where the caller pays the provider: %s (%s)', (_what, api, asked) => {
    const log = new LossLog();
    expect(sent(api, asked, true, log)).toMatchObject(asked);
    expect(log.report().dropped).toEqual([]);
  });

  it.each(APIS)('passes with a value that costs nothing more (%s)', (api) => {
    const plain = {
      inference_geo: 'global',
      search_parameters: null,
      enable_search: false,
      web_search_options: { search_type: 'fast', search_context_size: 'low' },
    };
    expect(sent(api, plain, false)).toMatchObject(plain);
  });

  it.each([...APIS, 'embeddings'] as const)('is not sent in a spelling that we do not read: %s', (api) => {
    const log = new LossLog();
    const asked = { MAX_TOKENS: 9, N: 9, Service_Tier: 'priority', enableSearch: true, inferenceGeo: 'us', Model: 'x' };
    const upstream = sent(api, { ...asked, webSearchOptions: {} }, false, log);
    expect(Object.keys(upstream)).toEqual(Object.keys(sent(api, {}, false)));
    expect(upstream['model']).toBe(endpoint.upstreamModel);
    expect(log.report().dropped).toEqual([...Object.keys(asked), 'webSearchOptions']);
    expect(sent(api, asked, true)).toMatchObject(asked);
  });

  it.each([...APIS, 'embeddings'] as const)('is not sent where it makes answers more or longer: %s', (api) => {
    const log = new LossLog();
    const asked = {
      best_of: 20,
      max_new_tokens: 60_000,
      num_return_sequences: 20,
      use_beam_search: true,
      generationConfig: { candidateCount: 8 },
      extra_body: { n: 100 },
    };
    const upstream = sent(api, asked, false, log);
    for (const name of Object.keys(asked)) expect(upstream).not.toHaveProperty(name);
    expect(log.report().dropped).toEqual(Object.keys(asked));
    expect(sent(api, asked, true)).toMatchObject(asked);
  });

  it.each([...APIS, 'embeddings'] as const)(
    'is not sent where it has a server use tools or ask other hosts: %s',
    (api) => {
      const asked = {
        compound_custom: { tools: { enabled_tools: ['code_interpreter'] } },
        web_search: { enable: true },
        connectors: [{ id: 'web-search' }],
        kv_transfer_params: { remote_host: '169.254.169.254', remote_port: 80 },
        bootstrapHost: '169.254.169.254',
      };
      const upstream = sent(api, asked, false);
      for (const name of Object.keys(asked)) expect(upstream).not.toHaveProperty(name);
      expect(sent(api, asked, true)).toMatchObject(asked);
    },
  );

  it.each([...APIS, 'embeddings'] as const)(
    'is not sent where it is code for a server, or names what it keeps for all tenants: %s',
    (api) => {
      const asked = {
        custom_logit_processor: '{"callable": "8004"}',
        logits_processors: ['os.system'],
        session_params: { id: 'another' },
        lora_path: 'of-another',
        id_slot: 0,
        priority: -1_000,
      };
      const upstream = sent(api, asked, false);
      for (const name of Object.keys(asked)) expect(upstream).not.toHaveProperty(name);
      expect(sent(api, asked, true)).toMatchObject(asked);
    },
  );

  it.each([
    ['chat', { max_output_tokens: 9, context_management: [] }, { max_tokens: 8, n: 2 }],
    ['responses', { max_tokens: 9, n: 9, max_completion_tokens: 9 }, { max_output_tokens: 8, context_management: [] }],
    ['messages', { max_output_tokens: 9, n: 9, prediction: {} }, { max_tokens: 8, context_management: {} }],
  ] as const)('is not sent where it is of another API: %s', (api, foreign, own) => {
    const upstream = sent(api, { ...foreign, ...own }, false);
    expect(upstream).toMatchObject(own);
    for (const name of Object.keys(foreign)) expect(upstream).not.toHaveProperty(name);
  });

  it('is no other spelling of a search type, of a tier or of a speed', () => {
    const log = new LossLog();
    const body =
      '{"model":"m","web_search_options":{"searchType":"pro"},"service_tier":"Priority","speed":"\\u0066ast"}';
    const upstream = dialectOf('chat').toUpstream(Buffer.from(body), endpoint, false, log).toString();
    expect(JSON.parse(upstream)).toEqual({ model: endpoint.upstreamModel, web_search_options: {} });
    expect(log.report().dropped).toEqual(['service_tier', 'speed', 'web_search_options.searchType']);
  });

  it('is not sent when it is named a second time', () => {
    const body = Buffer.from('{"model":"m","inference_geo":"global","inference_geo":"us"}');
    expect(dialectOf('messages').toUpstream(body, endpoint, false).toString()).not.toContain('"us"');
  });
});
