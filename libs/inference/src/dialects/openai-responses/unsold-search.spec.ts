import { LossLog } from '../../model/loss-report';
import { parseRate } from '../../pricing/money';
import { SHARED_ACCOUNT } from '../../model/provider-account';
import { anEndpoint } from '../../testing';
import { scanRequest } from '../request-members';
import { withoutUnsoldSearch } from './unsold-search';

const FUNCTION = { type: 'function', name: 'theirs' };
const USER = { role: 'user', content: 'Hi' };
const SEARCH = { type: 'web_search' };

describe(withoutUnsoldSearch.name, () => {
  const dropped = (body: object, sold: object = {}, account = SHARED_ACCOUNT) => {
    const log = new LossLog();
    const endpoint = anEndpoint({ pricing: { ...anEndpoint().pricing, ...sold } });
    const request = scanRequest(Buffer.from(JSON.stringify(body)));
    const { bytes } = withoutUnsoldSearch(request, endpoint, account, log);
    return { body: JSON.parse(bytes.toString()) as object, log: log.report().dropped };
  };

  it.each([
    [{ tools: [FUNCTION, SEARCH] }, { tools: [FUNCTION] }],
    [{ tools: [FUNCTION, { type: 'web_search_preview_2025_03_11' }, SEARCH] }, { tools: [FUNCTION] }],
    [{ tools: [FUNCTION, { type: 'Web-Search' }] }, { tools: [FUNCTION] }],
    [{ input: 'Hi', tools: [SEARCH], tool_choice: 'auto' }, { input: 'Hi' }],
    [
      { tools: [FUNCTION, SEARCH], tool_choice: { type: 'allowed_tools', mode: 'auto', tools: [FUNCTION, SEARCH] } },
      { tools: [FUNCTION], tool_choice: { type: 'allowed_tools', mode: 'auto', tools: [FUNCTION] } },
    ],
    [
      { tools: [FUNCTION, SEARCH], tool_choice: { type: 'allowed_tools', mode: 'auto', tools: [SEARCH] } },
      { tools: [FUNCTION], tool_choice: 'none' },
    ],
    [
      { tools: [SEARCH], input: [{ type: 'additional_tools', tools: [FUNCTION] }], tool_choice: 'required' },
      { input: [{ type: 'additional_tools', tools: [FUNCTION] }], tool_choice: 'required' },
    ],
    [{ input: [{ type: 'additional_tools', tools: [SEARCH] }, USER], tool_choice: 'auto' }, { input: [USER] }],
    [
      {
        input: [
          { type: 'additional_tools', tools: [FUNCTION, SEARCH] },
          { role: 'user', content: 'Hi' },
        ],
      },
      {
        input: [
          { type: 'additional_tools', tools: [FUNCTION] },
          { role: 'user', content: 'Hi' },
        ],
      },
    ],
    [
      {
        input: [
          { type: 'additional_tools', tools: [SEARCH] },
          { type: 'tool_search_output', tools: [SEARCH] },
        ],
      },
      { input: [{ type: 'tool_search_output', tools: [] }] },
    ],
  ])('leaves a search without a price out of %j', (body, left) => {
    expect(dropped(body)).toEqual({ body: left, log: ['tools.web_search'] });
  });

  it.each([
    [{ tools: [FUNCTION, SEARCH] }, { webSearch: parseRate('0.01') }],
    [{ tools: [{ ...FUNCTION, name: 'web_search' }] }, {}],
    [{ tools: [{ type: 'file_search' }] }, {}],
    [{ input: 'web_search', metadata: { tools: '[{"type":"web_search"}]' } }, {}],
  ])('keeps %j where it is sold, and what is no search', (body, sold) => {
    expect(dropped(body, sold)).toEqual({ body, log: [] });
  });

  it("keeps it for a caller's own key", () => {
    const body = { tools: [SEARCH] };
    expect(dropped(body, {}, { ...SHARED_ACCOUNT, isOwn: true })).toEqual({ body, log: [] });
  });
});
