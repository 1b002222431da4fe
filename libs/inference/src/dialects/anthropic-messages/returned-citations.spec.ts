import { LossLog } from '../../model/loss-report';
import { anEndpoint } from '../../testing';
import { toTokenCount } from './count-tokens';
import { anthropicMessages } from './dialect';

const endpoint = anEndpoint({ apis: ['messages'] });
const made = {
  type: 'web_search_result_location',
  url: 'https://a.example/x',
  title: 'A',
  cited_text: '',
  encrypted_index: '',
};
const proven = { ...made, encrypted_index: 'RWpj' };
const page = { type: 'page_location', cited_text: 'a', document_index: 0, start_page_number: 1, end_page_number: 2 };
const text = (citations: unknown): object => ({ type: 'text', text: 'Yes', citations });

const bodyOf = (content: unknown, role = 'assistant'): Buffer =>
  Buffer.from(JSON.stringify({ model: 'm', max_tokens: 5, messages: [{ role, content }] }));

function sent(body: Buffer): { content: unknown; dropped: readonly string[] } {
  const log = new LossLog();
  const { messages } = JSON.parse(anthropicMessages.toUpstream(body, endpoint, false, log).toString()) as {
    messages: { content: unknown }[];
  };
  return { content: messages[0]!.content, dropped: log.report().dropped };
}

describe('citations in a request that the gateway wrote for another API or search', () => {
  it.each([
    ['alone', [text([made])], [text(null)]],
    ['before another', [text([made, proven])], [text([proven])]],
    ['between others', [text([page, made, made, proven])], [text([page, proven])]],
    ['in two blocks', [text([made]), text([proven, made])], [text(null), text([proven])]],
  ])('are left out and reported: %s', (_where, content, left) => {
    expect(sent(bodyOf(content))).toEqual({ content: left, dropped: ['messages.content.citations'] });
  });

  it('are left out with thoughts of other models', () => {
    const thought = { type: 'thinking', thinking: 'hm', signature: '' };
    expect(sent(bodyOf([thought, text([made])]))).toEqual({
      content: [text(null)],
      dropped: ['messages.content.thinking', 'messages.content.citations'],
    });
  });

  it.each([
    ['a citation of the provider', bodyOf([text([proven, page])])],
    ['no citations', bodyOf([text(null), text([])])],
    ['such text in a string', bodyOf(JSON.stringify([text([made])]))],
    [
      'such an object in the arguments of a call',
      bodyOf([{ type: 'tool_use', id: 't', name: 'f', input: text([made]) }]),
    ],
    ['one that the user wrote', bodyOf([text([made])], 'user')],
  ])('leaves %s as it is', (_what, body) => {
    const { messages } = JSON.parse(body.toString()) as { messages: { content: unknown }[] };
    expect(sent(body)).toEqual({ content: messages[0]!.content, dropped: [] });
  });

  it('are not counted', () => {
    expect(toTokenCount(bodyOf([text([made])]), endpoint).toString()).toContain('"citations":null');
  });
});
