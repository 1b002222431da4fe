import { randomUUID } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import type { ReceivedRequest } from '@libs/inference/testing';
import { catalogueOf } from './catalogue';

export const SEARCH_USD = 0.01;
export const SEARCHING_PRICES = { prompt: '0.00000125', completion: '0.00001' };
const BATCH_PRICES = { prompt: '0.000000625', completion: '0.000005' };
/** Searches of a request without a cap. */
const UNCAPPED_SEARCHES = 20;
const TOKENS_OF_A_SEARCH = 8_000;
const ANSWER_TOKENS = 500;

type Body = Readonly<Record<string, unknown>>;

/** Of a batch. */
interface Line {
  readonly custom_id: string;
  readonly params: Body;
}

/** Returns a catalogue with `searching/responses`, and with `searching/messages`, whose provider has batches of its own. */
export function searchingCatalogue(origin: string): string {
  const common = { pricing: SEARCHING_PRICES, toolPricing: { web_search: String(SEARCH_USD) } };
  const baseUrl = `${origin}/v1`;
  const models = [
    { ...common, slug: 'searching/responses', provider: 'searching-r', baseUrl, apis: ['responses'] },
    {
      ...common,
      slug: 'searching/messages',
      provider: 'searching-m',
      protocol: 'anthropic',
      baseUrl,
      apis: ['messages'],
      batch: 'native' as const,
      batchPricing: BATCH_PRICES,
    },
  ];
  return catalogueOf(models).replaceAll('32768', '400000');
}

/** A provider whose model searches as often as it may, and reads its prompt and all that it found again each time. */
export class SearchingModel {
  /** Of each request that was answered. */
  readonly searches: number[] = [];
  /** By id. */
  readonly #orders = new Map<string, readonly Line[]>();

  readonly answer = (response: ServerResponse, { method, path, body }: ReceivedRequest): void => {
    const send = (answer: object): void => {
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(answer));
    };
    if (path.endsWith('/responses')) return send(this.#responseTo(JSON.parse(body) as Body));
    if (path.endsWith('/messages')) return send(this.#messageTo(JSON.parse(body) as Body));
    if (method === 'POST' && path.endsWith('/batches')) {
      const id = `msgbatch_${randomUUID()}`;
      this.#orders.set(id, (JSON.parse(body) as { requests: readonly Line[] }).requests);
      return send(this.#order(id, false));
    }
    const id = /msgbatch_[\w-]+/.exec(path)?.[0];
    if (id === undefined) return send({ data: [], has_more: false });
    if (!path.endsWith('/results')) return send(this.#order(id, true));
    const lines = this.#orders.get(id)!.map(({ custom_id, params }) => {
      const result = { type: 'succeeded', message: this.#messageTo(params) };
      return `${JSON.stringify({ custom_id, result })}\n`;
    });
    response.writeHead(200, { 'content-type': 'application/x-jsonl' }).end(lines.join(''));
  };

  #order(id: string, isEnded: boolean): object {
    const succeeded = isEnded ? this.#orders.get(id)!.length : 0;
    const request_counts = { processing: 0, succeeded, errored: 0, canceled: 0, expired: 0 };
    const processing_status = isEnded ? 'ended' : 'in_progress';
    return { id, type: 'message_batch', processing_status, created_at: new Date().toISOString(), request_counts };
  }

  #responseTo({ max_tool_calls: cap }: Body): object {
    const searches = this.#search(cap);
    const action = { type: 'search', query: 'q' };
    const calls = Array.from({ length: searches }, (_, at) => ({
      id: `ws_${at}`,
      type: 'web_search_call',
      status: 'completed',
      action,
    }));
    const content = [{ type: 'output_text', text: 'x', annotations: [] }];
    const message = { id: 'm', type: 'message', role: 'assistant', status: 'completed', content };
    const output_tokens = ANSWER_TOKENS;
    const input_tokens = tokensReadBy(searches);
    const usage = { input_tokens, output_tokens, total_tokens: input_tokens + output_tokens };
    return { id: 'up', object: 'response', status: 'completed', model: 'm', output: [...calls, message], usage };
  }

  #messageTo({ tools }: Body): object {
    const [tool = {}] = tools as readonly { max_uses?: unknown }[];
    const web_search_requests = this.#search(tool.max_uses);
    const usage = {
      input_tokens: tokensReadBy(web_search_requests),
      output_tokens: ANSWER_TOKENS,
      server_tool_use: { web_search_requests },
    };
    const content = [{ type: 'text', text: 'x' }];
    return { id: 'up', type: 'message', role: 'assistant', model: 'm', content, stop_reason: 'end_turn', usage };
  }

  #search(cap: unknown): number {
    const searches = typeof cap === 'number' ? cap : UNCAPPED_SEARCHES;
    this.searches.push(searches);
    return searches;
  }
}

/** The prompt is a few words. */
function tokensReadBy(searches: number): number {
  return (TOKENS_OF_A_SEARCH * searches * (searches + 1)) / 2 + ANSWER_TOKENS * searches;
}
