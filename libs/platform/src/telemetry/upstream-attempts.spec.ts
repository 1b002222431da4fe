import { AppError } from '@libs/errors';
import { metricsRegistry } from './metrics';
import { noteUpstreamAttempt, type UpstreamAttempt } from './upstream-attempts';

const attempt = (outcome: string, model = 'acme/large'): UpstreamAttempt => ({ provider: 'acme', model, outcome });
const refusal = new AppError('provider_unavailable', 'The provider refused the key that it was called with', {
  internal: 'upstream acme answered 401',
});

async function countOf({ provider, model, outcome }: UpstreamAttempt): Promise<number | undefined> {
  const { values } = await metricsRegistry.getSingleMetric('sluice_upstream_attempts_total')!.get();
  return values.find(
    ({ labels }) => labels.provider === provider && labels.model === model && labels.outcome === outcome,
  )?.value;
}

describe(noteUpstreamAttempt.name, () => {
  const logged: unknown[][] = [];
  const logger = { warn: (...line: unknown[]) => void logged.push(line) };
  beforeEach(() => void (logged.length = 0));
  afterEach(() => jest.useRealTimers());

  it('counts calls by provider, model and outcome', async () => {
    noteUpstreamAttempt(attempt('ok'), null, logger);
    noteUpstreamAttempt(attempt('ok'), null, logger);
    noteUpstreamAttempt(attempt('ok', 'acme/small'), null, logger);
    expect(await countOf(attempt('ok'))).toBe(2);
    expect(await countOf(attempt('ok', 'acme/small'))).toBe(1);
    expect(logged).toEqual([]);
  });

  it('logs a failure, also where another provider then answered, and the next ones together', () => {
    jest.useFakeTimers();
    for (let call = 0; call < 5; call += 1) noteUpstreamAttempt(attempt('refused_key'), refusal, logger);
    const line = {
      provider: 'acme',
      model: 'acme/large',
      outcome: 'refused_key',
      code: 'provider_unavailable',
      cause: 'upstream acme answered 401',
    };
    expect(logged).toEqual([['A call to a provider failed', { ...line, unlogged: 0 }]]);
    jest.advanceTimersByTime(10_000);
    noteUpstreamAttempt(attempt('refused_key'), refusal, logger);
    expect(logged.slice(1)).toEqual([['A call to a provider failed', { ...line, unlogged: 4 }]]);
  });

  it('logs other failures of the same provider meanwhile', () => {
    noteUpstreamAttempt(attempt('overloaded'), refusal, logger);
    noteUpstreamAttempt(attempt('down'), refusal, logger);
    expect(logged).toHaveLength(2);
  });

  it.each(['abandoned', 'refused_request'])('does not log what says nothing against the provider: %s', (outcome) => {
    noteUpstreamAttempt(attempt(outcome), refusal, logger);
    expect(logged).toEqual([]);
  });
});
