import { linesOf } from './batch-lines';
import { findViolations, repeatedAnswers, type Promised } from './checker';
import type { BatchBody, ResultBody } from './client';
import { amountOf, sumOf, textOf } from './decimal';
import type { BatchHistory, Books } from './history';
import { answerTo, embeddingOf, tokensOf } from './upstream-answer';
import type { UpstreamCall } from './upstream-script';

const PRICES = { prompt: '0.000000123', completion: '0.000000457' };
const LINES = linesOf('checked', 6);
/** The last line of the history failed. */
const FAILED = LINES.length - 1;

const costOf = (prompt: string): string => {
  const { promptTokens, completionTokens } = tokensOf(prompt);
  const cost = amountOf(PRICES.prompt) * BigInt(promptTokens) + amountOf(PRICES.completion) * BigInt(completionTokens);
  return textOf(cost);
};

const COST = textOf(sumOf(LINES.slice(0, FAILED).map(({ prompt }) => amountOf(costOf(prompt)))));

function resultOf(index: number): ResultBody {
  const { customId, prompt } = LINES[index]!;
  const head = { id: `batch_req_${index}`, custom_id: customId };
  if (index === FAILED) {
    return { ...head, response: null, error: { type: 'server_error', message: 'Out of order' } };
  }
  const { promptTokens, completionTokens } = tokensOf(prompt);
  const body = {
    choices: [{ message: { content: answerTo(prompt) } }],
    usage: { prompt_tokens: promptTokens, completion_tokens: completionTokens, cost: costOf(prompt) },
  };
  return { ...head, response: { status_code: 200, body }, error: null };
}

function callOf(index: number): UpstreamCall {
  const [behaviour, status] = index === FAILED ? (['server-error', 503] as const) : (['answer', 200] as const);
  return { script: 'steady', marker: LINES[index]!.marker, behaviour, startMs: 0, endMs: 1, status };
}

function goodBatch(): BatchBody {
  const answered = LINES.slice(0, FAILED).map(({ prompt }) => tokensOf(prompt));
  const promptTokens = answered.reduce((sum, tokens) => sum + tokens.promptTokens, 0);
  const completionTokens = answered.reduce((sum, tokens) => sum + tokens.completionTokens, 0);
  return {
    id: 'batch-1',
    object: 'batch',
    endpoint: '/v1/chat/completions',
    model: 'test/steady',
    status: 'completed',
    created_at: 1,
    finalized_at: 2,
    expires_at: 86_400,
    request_counts: { total: LINES.length, completed: LINES.length - 1, failed: 1 },
    usage: {
      prompt_tokens: promptTokens,
      completion_tokens: completionTokens,
      total_tokens: promptTokens + completionTokens,
      cost: COST,
    },
    error: null,
    results: LINES.map((_, index) => resultOf(index)),
  };
}

function goodBooks(): Books {
  const items = LINES.map(({ customId, prompt }, index) => ({
    customId,
    generationId: `gen-${index}`,
    failed: index === FAILED,
    calledOff: false,
    ...(index === FAILED ? { promptTokens: 0, completionTokens: 0 } : tokensOf(prompt)),
    costUsd: index === FAILED ? '0' : costOf(prompt),
  }));
  return {
    items,
    transfers: items
      .filter(({ failed }) => !failed)
      .map(({ generationId, costUsd }) => ({
        reference: generationId,
        kind: 'charge',
        debitAccount: 'org:1',
        creditAccount: 'revenue',
        amountUsd: costUsd,
      })),
    holds: [{ state: 'resolved', amountUsd: '1', settledUsd: COST }],
    segments: 0,
    outboxRows: 0,
    drift: [],
  };
}

function goodHistory(): BatchHistory {
  return {
    endpoint: '/v1/chat/completions',
    lines: LINES,
    prices: PRICES,
    batch: goodBatch(),
    statuses: ['validating', 'in_progress', 'completed'],
    calls: LINES.map((_, index) => callOf(index)),
    books: goodBooks(),
  };
}

const withBatch = (change: (batch: BatchBody) => Partial<BatchBody>): BatchHistory => {
  const batch = goodBatch();
  return { ...goodHistory(), batch: { ...batch, ...change(batch) } };
};

const withBooks = (change: (books: Books) => Partial<Books>): BatchHistory => {
  const books = goodBooks();
  return { ...goodHistory(), books: { ...books, ...change(books) } };
};

const without = <T>(list: readonly T[], index: number): T[] => list.filter((_, at) => at !== index);

const changed = <T extends object>(list: readonly T[], index: number, change: Partial<T>): T[] =>
  list.map((each, at) => (at === index ? { ...each, ...change } : each));

const CALLED_OFF_COST = amountOf(PRICES.prompt) * 9n;

/** A batch that ended early and whose failed line cost something. */
function calledOff(status: string, costUsd: string): BatchHistory {
  const { batch, books, ...history } = withBatch(({ usage }) => ({
    status,
    usage: {
      ...usage!,
      prompt_tokens: usage!.prompt_tokens + 9,
      cost: textOf(amountOf(COST) + amountOf(costUsd)),
    },
  }));
  const [charge] = books.transfers;
  const items = changed(books.items, FAILED, { calledOff: true, promptTokens: 9, costUsd });
  return {
    ...history,
    batch,
    statuses: ['in_progress', ...(status === 'cancelled' ? ['cancelling'] : []), status],
    books: {
      ...books,
      items,
      transfers: [...books.transfers, { ...charge!, reference: `gen-${FAILED}`, amountUsd: costUsd }],
      holds: changed(books.holds, 0, { settledUsd: textOf(amountOf(COST) + amountOf(costUsd)) }),
    },
  };
}

/** Which promises are broken, each named once. */
const broken = (history: BatchHistory): Promised[] => [
  ...new Set(findViolations(history).map(({ promise }) => promise)),
];

describe(findViolations, () => {
  it('finds nothing wrong with a batch in which nothing is', () => {
    expect(findViolations(goodHistory())).toEqual([]);
  });

  it('checks embeddings by their numbers and their own price', () => {
    const history = goodHistory();
    const results = LINES.slice(0, FAILED).map(({ customId, prompt }, index) => ({
      id: `${index}`,
      custom_id: customId,
      error: null,
      response: {
        status_code: 200,
        body: { data: [{ embedding: embeddingOf(prompt) }], usage: { prompt_tokens: tokensOf(prompt).promptTokens } },
      },
    }));
    const embeddings: BatchHistory = { ...history, endpoint: '/v1/embeddings' };
    const found = findViolations({ ...embeddings, batch: { ...history.batch!, results } });
    const promises = new Set(found.map(({ promise }) => promise));
    expect(promises).not.toContain('an answer belongs to its request');
    // The rows of this history hold what chat costs, and completions are not free.
    expect(promises).toContain('lines cost what the price list says');
  });

  const planted: readonly (readonly [string, Promised[], () => BatchHistory])[] = [
    ['a batch that was accepted and is gone', ['an accepted batch exists'], () => ({ ...goodHistory(), batch: null })],
    [
      'a lost result',
      ['one result for each request', 'counts agree with the results', 'usage is the exact sum of its lines'],
      () => withBatch(({ results }) => ({ results: without(results!, 0) })),
    ],
    [
      'a doubled result',
      ['one result for each request', 'counts agree with the results', 'usage is the exact sum of its lines'],
      () => withBatch(({ results }) => ({ results: [...results!, results![0]!] })),
    ],
    [
      'a result nobody asked for',
      ['one result for each request'],
      () => withBatch(({ results }) => ({ results: changed(results!, FAILED, { custom_id: 'foreign' }) })),
    ],
    [
      'a result with a response and an error',
      ['a response or an error, never both', 'counts agree with the results'],
      () =>
        withBatch(({ results }) => ({
          results: changed(results!, 0, { error: { type: 'server_error', message: 'also' } }),
        })),
    ],
    [
      'a result with neither',
      ['a response or an error, never both', 'counts agree with the results'],
      () => withBatch(({ results }) => ({ results: changed(results!, FAILED, { error: null }) })),
    ],
    [
      'a count that is off by one',
      ['counts agree with the results'],
      () =>
        withBatch(({ request_counts: counts }) => ({ request_counts: { ...counts, completed: counts.completed - 1 } })),
    ],
    [
      'a batch that went backwards',
      ['statuses follow the allowed path'],
      () => ({ ...goodHistory(), statuses: ['validating', 'in_progress', 'validating', 'completed'] }),
    ],
    [
      'a batch that came back from its end',
      ['statuses follow the allowed path'],
      () => ({ ...goodHistory(), statuses: ['completed', 'in_progress', 'completed'] }),
    ],
    [
      'a batch that is not finished',
      ['a finished batch leaves nothing open', 'finalized when terminal'],
      () => withBatch(() => ({ status: 'in_progress' })),
    ],
    ['a terminal batch without its time', ['finalized when terminal'], () => withBatch(() => ({ finalized_at: null }))],
    ['a segment left behind', ['a finished batch leaves nothing open'], () => withBooks(() => ({ segments: 1 }))],
    ['a message left behind', ['a finished batch leaves nothing open'], () => withBooks(() => ({ outboxRows: 1 }))],
    [
      'an answer to another request',
      ['an answer belongs to its request'],
      () =>
        withBatch(({ results }) => {
          const body = { ...results![0]!.response!.body, choices: [{ message: { content: answerTo('another') } }] };
          return { results: changed(results!, 0, { response: { status_code: 200, body } }) };
        }),
    ],
    [
      'an answer the upstream never gave',
      ['nothing is answered that was not asked'],
      () => ({ ...goodHistory(), calls: goodHistory().calls.slice(1) }),
    ],
    [
      'a line that was not charged',
      ['one charge for each billable line', 'the hold is resolved'],
      () => withBooks(({ transfers }) => ({ transfers: transfers.slice(1) })),
    ],
    [
      'a line that was charged twice',
      ['one charge for each billable line', 'the hold is resolved'],
      () => withBooks(({ transfers }) => ({ transfers: [...transfers, transfers[0]!] })),
    ],
    [
      'a charge of another amount',
      ['one charge for each billable line', 'the hold is resolved'],
      () => withBooks(({ transfers }) => ({ transfers: changed(transfers, 0, { amountUsd: '0.000001' }) })),
    ],
    [
      'a failed line that was charged',
      ['one charge for each billable line', 'the hold is resolved'],
      () =>
        withBooks(({ transfers }) => ({
          transfers: [...transfers, { ...transfers[0]!, reference: `gen-${FAILED}` }],
        })),
    ],
    [
      'two lines that share a generation',
      ['one charge for each billable line'],
      () => withBooks(({ items }) => ({ items: changed(items, FAILED, { generationId: 'gen-0' }) })),
    ],
    [
      'a movement of money that is no charge',
      ['one charge for each billable line'],
      () =>
        withBooks(({ transfers }) => ({
          transfers: [...transfers, { ...transfers[0]!, reference: 'gen-x', kind: 'refund', amountUsd: '0' }],
        })),
    ],
    [
      'a line priced by another list',
      [
        'lines cost what the price list says',
        'one charge for each billable line',
        'usage is the exact sum of its lines',
      ],
      () => withBooks(({ items }) => ({ items: changed(items, 0, { costUsd: '0.000000000001' }) })),
    ],
    [
      'a usage that lost the last digit',
      ['usage is the exact sum of its lines'],
      () => withBatch(({ usage }) => ({ usage: { ...usage!, cost: textOf(amountOf(COST) + amountOf('1e-12')) } })),
    ],
    [
      'a usage in which a token is missing',
      ['usage is the exact sum of its lines'],
      () => withBatch(({ usage }) => ({ usage: { ...usage!, prompt_tokens: usage!.prompt_tokens - 1 } })),
    ],
    [
      'a completed batch without usage',
      ['usage is the exact sum of its lines'],
      () => withBatch(() => ({ usage: null })),
    ],
    [
      'an account that differs from its transfers',
      ['the books balance'],
      () =>
        withBooks(() => ({
          drift: [
            { kind: 'account', id: 'org:1', figure: 'balance_usd', foundUsd: '0.000000000001', expectedUsd: '0' },
          ],
        })),
    ],
    [
      'a hold that is still open',
      ['the hold is resolved'],
      () => withBooks(({ holds }) => ({ holds: changed(holds, 0, { state: 'open' }) })),
    ],
    [
      'a hold that settled something else',
      ['the hold is resolved'],
      () => withBooks(({ holds }) => ({ holds: changed(holds, 0, { settledUsd: '0' }) })),
    ],
    ['a batch without a hold', ['the hold is resolved'], () => withBooks(() => ({ holds: [] }))],
  ];

  it.each([
    [
      'a call that was under way when its batch was cancelled costs its usage',
      'cancelled',
      textOf(CALLED_OFF_COST),
      [],
    ],
    [
      'such a call costs more than its usage',
      'cancelled',
      textOf(CALLED_OFF_COST + 1n),
      ['lines cost what the price list says'],
    ],
    [
      'a call that failed in a batch that was not cancelled costs something',
      'expired',
      textOf(CALLED_OFF_COST),
      ['lines cost what the price list says'],
    ],
  ])('knows that %s', (_what, status, costUsd, promises) => {
    expect(broken(calledOff(status, costUsd))).toEqual(promises);
  });

  it.each(planted)('sees %s', (_what, promises, history) => {
    expect(broken(history()).toSorted()).toEqual(promises.toSorted());
  });
});

describe(repeatedAnswers, () => {
  it('counts answers beyond the first of each line, and no refusals', () => {
    const history = goodHistory();
    const calls = [...history.calls, callOf(0), callOf(0), callOf(1), callOf(FAILED)];
    expect(repeatedAnswers({ ...history, calls })).toBe(3);
  });
});

describe(amountOf, () => {
  it.each([
    ['0', '0'],
    ['1.25', '1.25'],
    ['1.5e-7', '0.00000015'],
    ['2E+3', '2000'],
    ['-0.000000000001', '-0.000000000001'],
    ['12.50', '12.5'],
  ])('reads %s digit for digit', (text, shown) => {
    expect(textOf(amountOf(text))).toBe(shown);
  });

  it('refuses what is no number and what is finer than it can hold', () => {
    expect(() => amountOf('1,5')).toThrow('not a decimal number');
    expect(() => amountOf('1e-25')).toThrow('finer than');
  });

  it('adds what floats cannot', () => {
    expect(textOf(sumOf(['0.1', '0.2'].map(amountOf)))).toBe('0.3');
  });
});
