import type { Call, Reply } from '../http/reply';
import { decimalOf, type Item } from './charge';
import type { BookedCell, ChargeBook } from './charge-book';
import { reportPage, type ReportShape } from './report-page';

const SECOND_MS = 1_000;
const KEY_ID = 'key_sandbox';

const SHAPE: ReportShape = {
  startParameter: 'start_time',
  endParameter: 'end_time',
  maximumDays: 31,
  readTime: (text) => (/^\d{1,11}$/.test(text) ? Number(text) * SECOND_MS : Number.NaN),
  bucket: (startMs, endMs, results) => ({
    object: 'bucket',
    start_time: startMs / SECOND_MS,
    end_time: endMs / SECOND_MS,
    results,
  }),
  members: { object: 'page' },
};

const LINES: readonly (readonly [Item, string])[] = [
  ['uncached_input_tokens', 'input'],
  ['cache_read_input_tokens', 'cached input'],
  ['output_tokens', 'output'],
];

/** `/v1/organization/usage/…` and `/v1/organization/costs`, always in the finest groups. */
export class OpenaiReports {
  constructor(private readonly book: ChargeBook) {}

  completions(call: Call): Reply {
    const cells = this.book.of('openai').filter(({ isEmbedding }) => !isEmbedding);
    return reportPage(call, SHAPE, (day) => cells.filter((cell) => isUsed(cell, day)).map(completionsOf));
  }

  embeddings(call: Call): Reply {
    const cells = this.book.of('openai').filter(({ isEmbedding }) => isEmbedding);
    return reportPage(call, SHAPE, (day) => cells.filter((cell) => isUsed(cell, day)).map(embeddingsOf));
  }

  costs(call: Call): Reply {
    const cells = this.book.of('openai');
    const shape = { ...SHAPE, maximumDays: 180 };
    return reportPage(call, shape, (day) => cells.filter((cell) => cell.day === day).flatMap(costsOf));
  }
}

function isUsed({ day, counts }: BookedCell, wanted: string): boolean {
  return day === wanted && Object.values(counts).some((count) => count > 0);
}

function completionsOf({ model, tier, isBatch, key = KEY_ID, counts }: BookedCell): object {
  return {
    object: 'organization.usage.completions.result',
    input_tokens: counts.uncached_input_tokens + counts.cache_read_input_tokens,
    output_tokens: counts.output_tokens,
    input_cached_tokens: counts.cache_read_input_tokens,
    input_audio_tokens: 0,
    output_audio_tokens: 0,
    num_model_requests: counts.requests,
    project_id: null,
    user_id: null,
    api_key_id: key,
    model,
    batch: isBatch,
    service_tier: tier,
  };
}

function embeddingsOf({ model, key = KEY_ID, counts }: BookedCell): object {
  return {
    object: 'organization.usage.embeddings.result',
    input_tokens: counts.uncached_input_tokens,
    num_model_requests: counts.requests,
    project_id: null,
    user_id: null,
    api_key_id: key,
    model,
  };
}

function costsOf({ model, isBatch, amounts }: BookedCell): object[] {
  const line = (item: string, amount: bigint): object[] =>
    amount === 0n
      ? []
      : [
          {
            object: 'organization.costs.result',
            // Doubles, as in the original.
            amount: { value: Number(decimalOf(amount)), currency: 'usd' },
            line_item: item,
            project_id: null,
          },
        ];
  const name = isBatch ? `${model} batch` : model;
  return [
    ...LINES.flatMap(([item, words]) => line(`${name}, ${words}`, amounts[item])),
    ...line('web search tool calls', amounts.web_search),
    ...line(name, amounts.other),
  ];
}
