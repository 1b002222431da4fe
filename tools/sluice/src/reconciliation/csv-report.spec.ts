import { formatUsd } from '@libs/inference';
import { UsageError } from '../command';
import { readCsvReport } from './csv-report';
import { NO_TOKENS } from './token-counts';

const DAYS = { from: '2026-11-19', to: '2026-11-20' };
const HEADING =
  'day,model,key,tier,context_window,batch,requests,input_tokens,cached_tokens,cache_write_tokens,cache_write_1h_tokens,output_tokens,tool,cost_usd';

describe(readCsvReport.name, () => {
  it('reads one row for each price', () => {
    const rows = [
      HEADING,
      '2026-11-20,"large, new",key-1,priority,long,true,7,1000,200,300,100,50,,1.25',
      '2026-11-20,large,,,,,1,10,,,,5,,0.5',
      '2026-11-20,,,,,,,,,,,,web_search,0.03',
      '2026-11-21,large,,,,,1,10,,,,5,,9',
    ];
    const { usage, costs } = readCsvReport(`\uFEFF${rows.join('\r\n')}\r\n`, DAYS);
    expect(usage).toEqual([
      {
        day: '2026-11-20',
        model: 'large, new',
        key: 'key-1',
        tier: 'priority',
        isLong: true,
        isBatch: true,
        requests: 7n,
        tokens: { uncached: 500n, cached: 200n, cacheWrite5m: 200n, cacheWrite1h: 100n, output: 50n },
      },
      {
        day: '2026-11-20',
        model: 'large',
        key: null,
        tier: 'standard',
        isLong: false,
        isBatch: false,
        requests: 1n,
        tokens: { ...NO_TOKENS, uncached: 10n, output: 5n },
      },
    ]);
    expect(costs.map(({ model, tool, amount }) => [model, tool, formatUsd(amount)])).toEqual([
      ['large, new', null, '1.25'],
      ['large', null, '0.5'],
      [null, 'web_search', '0.03'],
    ]);
  });

  it('knows no requests and context windows where there are no such columns', () => {
    const { usage } = readCsvReport('day,model,cost_usd\n2026-11-20,large,1\n', DAYS);
    expect(usage).toMatchObject([{ requests: null, isLong: null, tokens: NO_TOKENS }]);
  });

  it.each([
    ['lacks the column cost_usd', 'day,model\n2026-11-20,large'],
    ['a column that is not known', 'day,model,cost_usd,colour\n'],
    ['a column twice', 'day,day,model,cost_usd\n'],
    ['line 2 of the CSV file has 2 cells, the heading 3', 'day,model,cost_usd\n2026-11-20,large'],
    ['line 2 of the CSV file: day must be a day', 'day,model,cost_usd\n20.11.2026,large,1'],
    ['line 3 of the CSV file: cost_usd must be an amount', 'day,model,cost_usd\n2026-11-20,a,1\n2026-11-20,b,$1'],
    ['line 5 of the CSV file: cost_usd must be an amount', '\nday,model,cost_usd\n\n2026-11-20,a,1\n2026-11-20,b,$1'],
    ['line 4 of the CSV file has 1 cells, the heading 3', 'day,model,cost_usd\r\n\r\n\r\n2026-11-20'],
    ['requests must be a whole number', 'day,model,cost_usd,requests\n2026-11-20,a,1,1.5'],
    ['batch must be false or true', 'day,model,cost_usd,batch\n2026-11-20,a,1,yes'],
    ['batch must be false or true', 'day,model,cost_usd,batch\n2026-11-20,a,1,constructor'],
    ['context_window must be standard or long', 'day,model,cost_usd,context_window\n2026-11-20,a,1,200k'],
    ['input_tokens must be at least', 'day,model,cost_usd,input_tokens,cached_tokens\n2026-11-20,a,1,1,2'],
    ['a cell that is no plain text', 'day,model,cost_usd\n2026-11-20,\u001b[2J,1'],
    ['a quote that does not fit', 'day,model,cost_usd\n2026-11-20,"a,1'],
  ])('says: %s', (what, text) => {
    expect(() => readCsvReport(text, DAYS)).toThrow(UsageError);
    expect(() => readCsvReport(text, DAYS)).toThrow(what);
  });
});
