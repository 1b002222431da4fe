import { withPlacedMark } from './cache-mark';

const placed = (body: string) => withPlacedMark(Buffer.from(body)).toString();
const MARK = '"cache_control":{"type":"ephemeral","ttl":"1h"}';

describe(withPlacedMark.name, () => {
  it.each([
    [
      'a text',
      `{"model":"m",${MARK},"messages":[{"role":"user","content":"Hi \\u00e9"}], "max_tokens":5}`,
      `{"model":"m","messages":[{"role":"user","content":[{"type":"text","text":"Hi \\u00e9",${MARK}}]}], "max_tokens":5}`,
    ],
    [
      'the last of several blocks',
      `{"messages":[{"role":"user","content":"A"},{"content":[{"type":"text","text":"a"},{"type":"image","source":{}}]}],${MARK}}`,
      `{"messages":[{"role":"user","content":"A"},{"content":[{"type":"text","text":"a"},{"type":"image","source":{},${MARK}}]}]}`,
    ],
  ])('puts the mark of the whole on %s, and keeps every other byte', (_what, body, expected) => {
    expect(placed(body)).toBe(expected);
  });

  it.each([
    ['is marked already', `{"type":"text","text":"a","cache_control":{"type":"ephemeral"}}`],
    ['is a thought', '{"type":"thinking","thinking":"a","signature":"b"}'],
    ['says nothing', '{"type":"text","text":""}'],
  ])('only takes the mark away where the last block %s', (_what, block) => {
    const messages = `"messages":[{"role":"user","content":[${block}]}]`;
    expect(placed(`{${MARK},${messages}}`)).toBe(`{${messages}}`);
  });

  it.each(['{"messages":[]}', '{"messages":[{"role":"user","content":""}]}', '{"messages":7}', '{}'])(
    'only takes the mark away from %s',
    (body) => {
      const inner = body.slice(1, -1);
      expect(placed(`{${[MARK, inner].filter(Boolean).join(',')}}`)).toBe(body);
    },
  );

  it('leaves a request that is marked within as it is', () => {
    const body = `{"messages":[{"role":"user","content":[{"type":"text","text":"a",${MARK}}]}]}`;
    expect(placed(body)).toBe(body);
    expect(placed('{"cache_control":null,"max_tokens":5}')).toBe('{"max_tokens":5}');
  });
});
