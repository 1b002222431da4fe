import { LossLog } from '../model/loss-report';
import { SHARED_ACCOUNT } from '../model/provider-account';
import { anEndpoint } from '../testing';
import { dialectOf } from '.';

const { pricing } = anEndpoint();
const endpoint = anEndpoint({ apis: ['responses', 'messages'], pricing: { ...pricing, webSearch: pricing.prompt } });
const OWN_ACCOUNT = { ...SHARED_ACCOUNT, isOwn: true };

function sentBy(api: 'responses' | 'messages', body: string, account = SHARED_ACCOUNT) {
  const log = new LossLog();
  const sent = dialectOf(api).toUpstream(Buffer.from(body), endpoint, false, log, account).toString();
  const { tools, max_tool_calls } = JSON.parse(sent) as { tools: unknown; max_tool_calls: unknown };
  return { sent, tools, max_tool_calls, losses: log.report() };
}

describe('the cap of a response', () => {
  const search = '"tools":[{"type":"web_search"}]';

  it.each([
    ['is added to tools of a provider', `{${search}}`, 5],
    ['takes the place of null', `{"max_tool_calls":null,${search}}`, 5],
    ['is that of the caller', `{"max_tool_calls":20,${search}}`, 20],
    ['is no higher than a hundred', `{"max_tool_calls":500,${search}}`, 100],
    [
      'is set where conditions take the place of the caller’s',
      `{"max_tool_calls":9,"stop_server_tools_when":[{}],${search}}`,
      5,
    ],
    ['is the last of two', `{"max_tool_calls":3,"max_tool_calls":4,${search}}`, 4],
    ['is set for tools that come later', '{"input":[{"type":"additional_tools","tools":[{"type":"shell"}]}]}', 5],
    ['is set for tools that were found', '{"input":[{"type":"tool_search_output","tools":[{"type":"shell"}]}]}', 5],
    ['is set for types that are written with escapes', String.raw`{"tools":[{"t\u0079pe":"web\u005fsearch"}]}`, 5],
    [
      'is set for later tools that are written with escapes',
      String.raw`{"input":[{"type":"\u0061dditional\u005Ftools","tools":[{"type":"shell"}]}]}`,
      5,
    ],
    ['is not set for functions', '{"tools":[{"type":"function","name":"f"}]}', undefined],
    ['is not set without tools', '{"input":"web_search"}', undefined],
  ])('%s', (_name, body, cap) => {
    expect(sentBy('responses', body).max_tool_calls).toBe(cap);
  });

  it('is left to the caller on a key of its own', () => {
    expect(sentBy('responses', `{${search}}`, OWN_ACCOUNT).max_tool_calls).toBeUndefined();
    expect(sentBy('responses', `{"max_tool_calls":500,${search}}`, OWN_ACCOUNT).max_tool_calls).toBe(500);
  });

  it('is reported where it is lower than the caller’s', () => {
    expect(sentBy('responses', `{"max_tool_calls":500,${search}}`).losses.approximated).toEqual(['max_tool_calls']);
    expect(sentBy('responses', `{"max_tool_calls":20,${search}}`).losses.approximated).toEqual([]);
  });
});

describe('the caps of tools of a message', () => {
  const search = '"type":"web_search_20250305","name":"web_search"';
  const tool = (more = '') => `{"max_tokens":1,"tools":[{${search}${more}}]}`;

  it.each([
    ['are added', tool(), [{ max_uses: 5 }]],
    ['take the place of null', tool(',"max_uses":null'), [{ max_uses: 5 }]],
    ['take the place of text, which a provider may read as a number', tool(',"max_uses":"90"'), [{ max_uses: 5 }]],
    ['are those of the caller', tool(',"max_uses":20'), [{ max_uses: 20 }]],
    ['are no higher than a hundred', tool(',"max_uses":101'), [{ max_uses: 100 }]],
    [
      'are set for each tool',
      '{"max_tokens":1,"tools":[{"name":"f","input_schema":{}},{"type":"web_fetch_20250910","name":"web_fetch","max_uses":2},{"type":"web_search_20250305"}]}',
      [{ name: 'f' }, { max_uses: 2, max_content_tokens: 10_000 }, { max_uses: 3 }],
    ],
    [
      'are not set for tools that take none',
      '{"max_tokens":1,"tools":[{"type":"bash_20250124"},{"type":"code_execution_20250825"}]}',
      [{ type: 'bash_20250124' }, { type: 'code_execution_20250825' }],
    ],
  ])('%s', (_name, body, tools) => {
    expect(sentBy('messages', body).tools).toMatchObject(tools);
  });

  it('leave all other bytes as they are', () => {
    const body = `{"max_tokens":1, "tools": [ {${search},  "max_uses":7 , "user_location":{"city":"\\u00dcb"}} ]}`;
    expect(sentBy('messages', body).sent).toContain(body.slice(1, -1));
  });

  it('stand there once', () => {
    const { sent, tools } = sentBy('messages', tool(',"max_uses":90,"max\\u005fuses":5'));
    expect(tools).toMatchObject([{ max_uses: 5 }]);
    expect(sent).not.toContain('90');
  });

  it('are left to the caller on a key of its own', () => {
    expect(sentBy('messages', tool(), OWN_ACCOUNT).tools).toEqual([
      { type: 'web_search_20250305', name: 'web_search' },
    ]);
    expect(sentBy('messages', tool(',"max_uses":900'), OWN_ACCOUNT).tools).toMatchObject([{ max_uses: 900 }]);
  });

  it('are reported where they are lower than the caller’s', () => {
    expect(sentBy('messages', tool(',"max_uses":900')).losses.approximated).toEqual(['tools.max_uses']);
  });
});
