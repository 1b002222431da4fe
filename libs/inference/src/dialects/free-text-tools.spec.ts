import { parseJson, type JsonObject } from '@libs/json';
import type { Endpoint } from '../catalogue/catalogue';
import type { AnswerEvent } from '../model/canonical-answer';
import { joinFrames } from '../model/answer-frame';
import { LossLog } from '../model/loss-report';
import { emptyUsage } from '../pricing/usage';
import { aModel, anEndpoint, dataOfEventStream } from '../testing';
import type { AnswerContext } from './dialect';
import { anthropicMessagesTranslation } from './anthropic-messages';
import { withTakenTools } from './free-text-tools';
import { openAiChatTranslation } from './openai-chat';
import { openAiResponsesTranslation } from './openai-responses';
import type { CallerTranslation, Translation } from './translation';

const openai = anEndpoint({ apis: ['responses'], capabilities: { responses: { custom_tools: true } } });
const other = anEndpoint();

const LARK = { syntax: 'lark', definition: 'start: "ls"' };
const OF_CHAT = {
  tools: [
    { type: 'function', function: { name: 'look' } },
    {
      type: 'custom',
      custom: { name: 'shell', description: 'Runs', format: { type: 'grammar', grammar: LARK } },
    },
    { type: 'custom', custom: { name: 'say', format: { type: 'text' } } },
  ],
  tool_choice: { type: 'custom', custom: { name: 'shell' } },
  messages: [
    { role: 'user', content: 'Hi' },
    {
      role: 'assistant',
      tool_calls: [
        { id: 'c_1', type: 'custom', custom: { name: 'shell', input: 'ls "a"\n' } },
        { id: 'c_2', type: 'function', function: { name: 'look', arguments: '{}' } },
      ],
    },
    { role: 'tool', tool_call_id: 'c_1', content: 'b' },
    { role: 'tool', tool_call_id: 'c_2', content: 'c' },
  ],
};
const OF_RESPONSES = {
  tools: [
    { type: 'function', name: 'look', strict: false },
    { type: 'custom', name: 'shell', description: 'Runs', format: { type: 'grammar', ...LARK } },
    { type: 'custom', name: 'say' },
  ],
  tool_choice: { type: 'custom', name: 'shell' },
  input: [
    { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'Hi' }] },
    { type: 'custom_tool_call', call_id: 'c_1', name: 'shell', input: 'ls "a"\n' },
    { type: 'function_call', call_id: 'c_2', name: 'look', arguments: '{}' },
    { type: 'custom_tool_call_output', call_id: 'c_1', output: 'b' },
    { type: 'function_call_output', call_id: 'c_2', output: 'c' },
  ],
};

function translated(caller: CallerTranslation, body: object, { upstream }: Translation, endpoint: Endpoint) {
  const log = new LossLog();
  const request = caller.readRequest(parseJson(Buffer.from(JSON.stringify(body))) as JsonObject);
  for (const member of request.unread) log.drop(member);
  const sent = upstream.writeRequest(withTakenTools(upstream, endpoint, request, log), endpoint, false, log);
  return { sent: parseJson(Buffer.from(JSON.stringify(sent))), ...log.report() };
}

const context = (body: object): AnswerContext => ({
  generationId: 'gen-1-abc',
  model: aModel({ endpoints: [openai] }),
  endpoint: openai,
  priceList: 'standard',
  beganMs: 0,
  requestBody: Buffer.from(JSON.stringify(body)),
});
const bill = { usage: emptyUsage('upstream'), cost: { totalCost: 0n, promptCost: 0n, completionCost: 0n } };

describe('tools that take free text', () => {
  it.each([
    ['chat', openAiChatTranslation.caller, OF_CHAT],
    ['responses', openAiResponsesTranslation.caller, OF_RESPONSES],
  ])('go to OpenAI as they are, with calls and results: %s', (_api, caller, body) => {
    const { sent, dropped } = translated(caller, body, openAiResponsesTranslation, openai);
    expect(sent).toMatchObject(OF_RESPONSES);
    expect(dropped).toEqual([]);
  });

  it.each([
    ['chat', openAiChatTranslation.caller, OF_CHAT],
    ['responses', openAiResponsesTranslation.caller, OF_RESPONSES],
  ])('are functions with one text elsewhere, without their grammar: %s', (_api, caller, body) => {
    const parameters = { type: 'object', properties: { input: { type: 'string' } } };
    const { sent, dropped } = translated(caller, body, openAiChatTranslation, other);
    expect(sent).toMatchObject({
      tools: [
        { type: 'function', function: { name: 'look' } },
        { type: 'function', function: { name: 'shell', description: 'Runs', parameters } },
        { type: 'function', function: { name: 'say', parameters } },
      ],
      tool_choice: { type: 'function', function: { name: 'shell' } },
      messages: [
        {},
        {
          tool_calls: [
            { id: 'c_1', type: 'function', function: { name: 'shell', arguments: '{"input":"ls \\"a\\"\\n"}' } },
            { id: 'c_2', function: { name: 'look' } },
          ],
        },
        { role: 'tool', tool_call_id: 'c_1', content: 'b' },
        { role: 'tool', tool_call_id: 'c_2' },
      ],
    });
    expect(dropped).toEqual(['tools.format']);
    const unknown = translated(caller, body, openAiResponsesTranslation, anEndpoint({ apis: ['responses'] }));
    expect(unknown.sent).toMatchObject({
      tools: [{}, { type: 'function', name: 'shell', parameters }, { type: 'function', name: 'say' }],
      tool_choice: { type: 'function', name: 'shell' },
    });
    expect(unknown.dropped).toEqual(['tools.format']);
    const { sent: asked } = translated(caller, body, anthropicMessagesTranslation, other);
    expect(asked).toMatchObject({ tools: [{ name: 'look' }, { name: 'shell', input_schema: parameters }, {}] });
  });

  it('may be narrowed to some of them on chat', () => {
    const allowed = { mode: 'required', tools: [{ type: 'custom', custom: { name: 'say' } }] };
    const body = { ...OF_CHAT, tool_choice: { type: 'allowed_tools', allowed_tools: allowed } };
    const { sent, dropped } = translated(openAiChatTranslation.caller, body, openAiResponsesTranslation, openai);
    expect(sent).toMatchObject({ tools: [{ type: 'custom', name: 'say' }], tool_choice: 'required' });
    expect(dropped).toEqual([]);
  });

  it('have results of their own type where a function is called with the id of an earlier call', () => {
    const called = (call: object): object => ({ role: 'assistant', content: null, tool_calls: [{ id: 'c', ...call }] });
    const result = { role: 'tool', tool_call_id: 'c', content: 'b' };
    const shell = { type: 'custom', custom: { name: 'shell', input: 'ls' } };
    const look = { type: 'function', function: { name: 'look', arguments: '{}' } };
    const messages = [called(shell), result, called(look), result, called(shell), result];
    const { sent } = translated(
      openAiChatTranslation.caller,
      { ...OF_CHAT, messages },
      openAiResponsesTranslation,
      openai,
    );
    const types = (sent as { input: { type: string }[] }).input.map(({ type }) => type);
    const [custom, plain] = ['custom_tool_call', 'function_call'];
    expect(types).toEqual([custom, `${custom}_output`, plain, `${plain}_output`, custom, `${custom}_output`]);
  });

  it('are called on chat with their text, in a whole answer', () => {
    const output = [
      { type: 'custom_tool_call', call_id: 'c_1', name: 'shell', input: 'ls "a"\n' },
      { type: 'function_call', call_id: 'c_2', name: 'look', arguments: '{}' },
    ];
    const answer = openAiResponsesTranslation.upstream.readAnswer({ status: 'completed', output }, openai);
    expect(openAiChatTranslation.caller.writeAnswer(answer, bill, context(OF_CHAT))).toMatchObject({
      choices: [
        {
          finish_reason: 'tool_calls',
          message: {
            tool_calls: [
              { id: 'c_1', index: 0, type: 'custom', custom: { name: 'shell', input: 'ls "a"\n' } },
              { id: 'c_2', index: 1, type: 'function', function: { name: 'look', arguments: '{}' } },
            ],
          },
        },
      ],
    });
  });

  describe('called in a stream on chat', () => {
    const start: AnswerEvent = { type: 'part-start', part: 0, kind: 'tool-call', id: 'c_1', name: 'shell' };
    const piece = (text: string): AnswerEvent => ({ type: 'tool-arguments-delta', part: 0, arguments: text });
    const end: AnswerEvent = { type: 'part-end', part: 0 };
    const finish: AnswerEvent = { type: 'finish', finishReason: 'length', nativeFinishReason: 'length' };

    /** Returns the pieces of tool calls that the caller gets. */
    function pieces(events: readonly AnswerEvent[]): unknown[] {
      const writer = openAiChatTranslation.caller.writeStream(context(OF_CHAT));
      const frames = [...events.flatMap((event) => writer.write(event)), ...writer.complete(bill)];
      const chunks = dataOfEventStream(joinFrames(frames).toString()).filter((data) => data !== '[DONE]');
      return chunks.flatMap((data) => {
        const { choices } = JSON.parse(data) as { choices: { delta: { tool_calls?: unknown[] } }[] };
        return choices.flatMap(({ delta }) => delta.tool_calls ?? []);
      });
    }
    const begun = { index: 0, id: 'c_1', type: 'custom', custom: { name: 'shell', input: '' } };

    it('have their text when the call is complete', () => {
      const call = { index: 0, custom: { input: 'ls\n' } };
      expect(pieces([start, piece('{"inp'), piece('ut":"ls\\n"}'), end, finish])).toEqual([begun, call]);
    });

    it('have the rest of a call that was cut off', () => {
      const call = { index: 0, custom: { input: '{"inp' } };
      expect(pieces([start, piece('{"inp'), finish])).toEqual([begun, call]);
    });

    it('arrive from OpenAI', () => {
      const reader = openAiResponsesTranslation.upstream.readStream(openai);
      const item = { type: 'custom_tool_call', id: 'ctc_1', call_id: 'c_1', name: 'shell' };
      const events = [
        { type: 'response.created', response: {} },
        { type: 'response.output_item.added', output_index: 0, item: { ...item, input: '' } },
        { type: 'response.custom_tool_call_input.delta', output_index: 0, item_id: 'ctc_1', delta: 'ls' },
        { type: 'response.custom_tool_call_input.done', output_index: 0, item_id: 'ctc_1', input: 'ls' },
        { type: 'response.output_item.done', output_index: 0, item: { ...item, input: 'ls' } },
        { type: 'response.completed', response: { status: 'completed', output: [{ ...item, input: 'ls' }] } },
      ];
      const read = events.flatMap((event) => reader.read({ name: event.type, data: JSON.stringify(event) }));
      expect(pieces(read)).toEqual([begun, { index: 0, custom: { input: 'ls' } }]);
    });
  });
});
