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

function sent(api: (typeof APIS)[number], asked: object, isOwn: boolean, log = new LossLog()): unknown {
  const body = Buffer.from(JSON.stringify({ model: 'm', max_tokens: 8, ...asked }));
  const bytes = dialectOf(api).toUpstream(body, endpoint, false, log, { isOwn, keepsNothing: false });
  return JSON.parse(bytes.toString());
}

describe('what makes a provider charge more than the catalogue says', () => {
  it.each(WAYS)('is not sent on an account of the operator: %s (%s)', (_what, api, asked, name) => {
    const log = new LossLog();
    const { web_search_options: search, ...others } = sent(api, asked, false, log) as Record<string, unknown>;
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

  it('is not sent when it is named a second time', () => {
    const body = Buffer.from('{"model":"m","inference_geo":"global","inference_geo":"us"}');
    expect(dialectOf('messages').toUpstream(body, endpoint, false).toString()).not.toContain('"us"');
  });
});
