import { parseRate } from '../pricing/money';
import type { PriceList } from '../pricing/price';
import {
  charged,
  chatEnd,
  chatUsage,
  chunk,
  opened,
  sent,
  type StreamedEvent as Event,
} from '../testing/billed-streams';
import { textOf } from '../testing';
import type { StreamableApi } from './dialect-pairs';

const APIS: readonly StreamableApi[] = ['chat', 'responses', 'messages'];
const BY_USE: PriceList = {
  prompt: 0n,
  completion: 0n,
  webSearch: parseRate('0.01'),
  tools: { code_interpreter: parseRate('0.03') },
};
const ran = (index: number, type: string): Event => chunk({ executed_tools: [{ index, type }] });

const messageStart: Event = {
  type: 'message_start',
  message: { id: 'm', type: 'message', role: 'assistant', usage: { input_tokens: 1, output_tokens: 1 } },
};
const used = (index: number, name: string): readonly Event[] => [
  { type: 'content_block_start', index, content_block: { type: 'server_tool_use', id: `t${index}`, name } },
  { type: 'content_block_stop', index },
];
const written = (index: number): readonly Event[] => [
  { type: 'content_block_start', index, content_block: { type: 'text', text: 'Hi' } },
  { type: 'content_block_stop', index },
];
const messageUsage = (usage: object): Event => ({
  type: 'message_delta',
  delta: { stop_reason: 'end_turn' },
  usage: { output_tokens: 1, ...usage },
});
const searched = (requests: number) => ({ server_tool_use: { web_search_requests: requests } });
const messageStop: Event = { type: 'message_stop' };

const responseCreated: Event = {
  type: 'response.created',
  response: {
    id: 'r',
    status: 'in_progress',
  },
};
const itemDone = (index: number, type: string): Event => ({
  type: 'response.output_item.done',
  output_index: index,
  item: { type, id: `i${index}`, status: 'completed' },
});
const itemBegun = (index: number, type: string): Event => ({
  type: 'response.output_item.added',
  output_index: index,
  item: { type, id: `i${index}`, status: 'in_progress' },
});
const said: Event = {
  type: 'response.output_text.delta',
  output_index: 9,
  item_id: 'i9',
  content_index: 0,
  delta: 'Hi',
};
const responseDone: Event = {
  type: 'response.completed',
  response: {
    id: 'r',
    status: 'completed',
    output: [],
    usage: {
      input_tokens: 1,
      output_tokens: 1,
      total_tokens: 2,
    },
  },
};

describe('the charge for tools of a provider that a stream shows after its last usage', () => {
  describe.each(APIS)('at %s is for uses', (caller) => {
    it('in a chat that lists them', async () => {
      const events = [
        chunk({ content: 'Hi' }, chatUsage(1)),
        ran(0, 'search'),
        ran(1, 'python'),
        ran(1, 'python'),
        chatEnd,
      ];
      expect(await charged(caller, 'chat', BY_USE, events)).toMatchObject({ usd: 0.04, shown: 0.04 });
    });

    it('in a chat whose usage counts earlier ones', async () => {
      const usage = chatUsage(1, { server_tool_use: { web_search_requests: 1 } });
      const events = [ran(0, 'search'), chunk({ content: 'Hi' }, usage), ran(1, 'search'), chatEnd];
      expect(await charged(caller, 'chat', BY_USE, events)).toMatchObject({ usd: 0.02, shown: 0.02 });
    });

    it('once in a chat whose usage counts them already', async () => {
      const usage = chatUsage(1, { server_tool_use: { web_search_requests: 2 } });
      const events = [ran(0, 'search'), chunk({ content: 'Hi' }, usage), ran(1, 'search'), chatEnd];
      expect((await charged(caller, 'chat', BY_USE, events)).usd).toBe(0.02);
    });

    it('in a chat that cites pages', async () => {
      const annotations = [{ type: 'url_citation', url_citation: { url: 'https://a.test', title: 'A' } }];
      const events = [chunk({ content: 'Hi' }, chatUsage(1)), chunk({ annotations }), chatEnd];
      expect((await charged(caller, 'chat', BY_USE, events)).usd).toBe(0.01);
    });

    it('in a chat that breaks off', async () => {
      const events = [chunk({ content: 'Hi' }, chatUsage(1)), ran(0, 'python')];
      expect(await charged(caller, 'chat', BY_USE, events)).toMatchObject({ usd: 0.03, state: 'failed' });
      expect((await charged(caller, 'chat', BY_USE, events.slice(1).concat(chunk({ content: 'Hi' })))).usd).toBe(0.03);
    });

    it('in a message', async () => {
      const events = [messageStart, ...written(0), messageUsage({}), ...used(1, 'web_search'), messageStop];
      expect((await charged(caller, 'messages', BY_USE, events)).usd).toBe(0.01);
    });

    it('in a message whose usage counts earlier ones', async () => {
      const usage = messageUsage(searched(1));
      const events = [
        messageStart,
        ...used(0, 'web_search'),
        ...written(1),
        usage,
        ...used(2, 'web_search'),
        messageStop,
      ];
      expect((await charged(caller, 'messages', BY_USE, events)).usd).toBe(0.02);
    });

    it('in a message with another usage that does not count them', async () => {
      const start = { ...messageStart, message: { id: 'm', usage: { input_tokens: 1, ...searched(0) } } };
      const events = [start, ...used(0, 'web_search'), ...written(1), messageUsage({}), messageStop];
      expect((await charged(caller, 'messages', BY_USE, events)).usd).toBe(0.01);
      const again = [...used(2, 'web_search'), messageUsage({})];
      const more = [start, ...used(0, 'web_search'), ...written(1), messageUsage(searched(1)), ...again, messageStop];
      expect((await charged(caller, 'messages', BY_USE, more)).usd).toBe(0.02);
    });

    it('but not for searches that failed before the usage of a message', async () => {
      const usage = messageUsage(searched(1));
      const events = [
        messageStart,
        ...used(0, 'web_search'),
        ...used(1, 'web_search'),
        ...written(2),
        usage,
        messageStop,
      ];
      expect((await charged(caller, 'messages', BY_USE, events)).usd).toBe(0.01);
    });

    it('in a message that breaks off', async () => {
      const events = [messageStart, ...written(0), ...used(1, 'code_execution')];
      expect(await charged(caller, 'messages', BY_USE, events)).toMatchObject({ usd: 0.03, state: 'failed' });
    });

    it('in a response whose last event leaves them out', async () => {
      const events = [responseCreated, said, itemDone(0, 'code_interpreter_call'), responseDone];
      expect((await charged(caller, 'responses', BY_USE, events)).usd).toBe(0.03);
    });

    it('in a response that breaks off', async () => {
      const events = [responseCreated, said, itemDone(0, 'code_interpreter_call'), itemDone(1, 'web_search_call')];
      expect(await charged(caller, 'responses', BY_USE, events)).toMatchObject({ usd: 0.04, state: 'failed' });
    });

    it('in a response whose caller leaves while one runs', async () => {
      const events = [responseCreated, said, itemBegun(0, 'code_interpreter_call')];
      const stream = await opened(caller, 'responses', BY_USE, sent(events, true));
      const text = textOf(stream);
      setImmediate(() => stream.cancel());
      await text;
      expect(Number((await stream.outcome).cost.totalCost) / 1e12).toBe(0.03);
    });
  });
});
