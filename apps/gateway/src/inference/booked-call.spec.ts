import { AppError } from '@libs/errors';
import { Cancellation, type InferenceResult } from '@libs/inference';
import { metricsRegistry } from '@libs/platform';
import { aPrincipal } from '@libs/platform/testing';
import { UnderHeldCalls } from '../generations/under-held-calls';
import { GenerationTicket, type CallOutcome } from '../generations/generation-ticket';
import type { IncomingCall } from '../generations/incoming-call';
import type { PluginRun } from '../plugins/plugin-run';
import { BookedCall, type Booking } from './booked-call';

const OVERLOADED = new AppError('provider_overloaded', 'The provider is overloaded');
const NO_ROUTE = new AppError('not_found', 'No endpoint can serve this', { availability: {} });
const TOO_MANY = new AppError('rate_limit_exceeded', 'Too many requests');
const BROKE = new AppError('payment_required', 'Insufficient credits');

const neverAsked = (): Promise<InferenceResult> => Promise.reject(new Error('It must not be asked'));
const failing = (error: AppError) => (): Promise<InferenceResult> => Promise.reject(error);
/** Plugins that have cost one pico-dollar. */
const plugins = { charged: (outcome: CallOutcome) => ({ ...outcome, costPicoUsd: 1n }) } as unknown as PluginRun;

const CALL = { generationId: 'gen-1-abc', caller: aPrincipal(), parsed: {} };

function aCall(changes: Partial<Booking> = {}, isAhead = true) {
  const ended: string[] = [];
  const times: (number | null)[] = [];
  const used: number[] = [];
  const abort = new Cancellation();
  const books = {
    end: (_ticket: GenerationTicket, { outcome, generationMs }: CallOutcome, isWithdrawn: boolean) => {
      ended.push(isWithdrawn ? 'withdrawn' : outcome);
      times.push(generationMs);
    },
    extend: async () => undefined,
    underHeld: new UnderHeldCalls(),
  };
  const booked = new BookedCall(
    { open: (opening, hold) => new GenerationTicket(opening, hold, isAhead, books) },
    {
      api: 'chat',
      call: { ...CALL, arrivedMs: performance.now() - 5_000, abort } as unknown as IncomingCall,
      aim: { request: { model: 'test/chat' } } as Booking['aim'],
      streamed: false,
      holdPicoUsd: 1n,
      model: 'acme/large',
      unprovenPicoUsd: 0n,
      admission: { decided: Promise.resolve(), used: (tokens) => void used.push(tokens) },
      plugins: null,
      ...changes,
    },
  );
  return { booked, abort, ended, used, times };
}

const refusing = () => {
  const decided = Promise.reject(TOO_MANY);
  decided.catch(() => undefined);
  return { decided, used: () => undefined };
};

describe(BookedCall.name, () => {
  it('settles a call that its provider failed, and counts its tokens once', async () => {
    const { booked, ended, used } = aCall();
    await expect(booked.reach(failing(OVERLOADED))).rejects.toBe(OVERLOADED);
    expect(ended).toEqual(['failed']);
    expect(used).toEqual([0]);
  });

  it('counts the time of a call from the arrival of its request', async () => {
    const { booked, times } = aCall();
    await expect(booked.reach(failing(OVERLOADED))).rejects.toBe(OVERLOADED);
    expect(times).toEqual([expect.closeTo(5_000, -3)]);
  });

  it('measures the provider that answered, without the wait before it and the providers that failed', async () => {
    // Other specs of this process may have measured calls too.
    const metric = metricsRegistry.getSingleMetric('sluice_upstream_first_byte_seconds')!;
    metric.reset();
    const { booked } = aCall();
    const attempts = [
      { providerSlug: 'slow', tookMs: 3_000 },
      { providerSlug: 'quick', tookMs: 20 },
    ];
    await booked.reach(() => Promise.resolve({ attempts } as unknown as InferenceResult));
    const { values } = await metric.get();
    const sums = values.filter((value) => 'metricName' in value && String(value.metricName).endsWith('_sum'));
    expect(sums.map(({ labels, value }) => [labels['provider'], value])).toEqual([['quick', 0.02]]);
  });

  it('withdraws a call that no endpoint can serve', async () => {
    const { booked, ended } = aCall();
    await expect(booked.reach(failing(NO_ROUTE))).rejects.toBe(NO_ROUTE);
    expect(ended).toEqual(['withdrawn']);
  });

  it('withdraws a call that the limits refuse, unasked', async () => {
    const { booked, ended } = aCall({ admission: refusing() });
    await expect(booked.reach(neverAsked)).rejects.toBe(TOO_MANY);
    expect(ended).toEqual(['withdrawn']);
  });

  it('settles a call that no endpoint can serve, if its plugins cost something', async () => {
    const { booked, ended } = aCall({ plugins });
    await expect(booked.reach(failing(NO_ROUTE))).rejects.toBe(NO_ROUTE);
    expect(ended).toEqual(['failed']);
  });

  it('asks no provider before the money is there', async () => {
    const { booked } = aCall({}, false);
    const reached = booked.reach(neverAsked);
    booked.ticket.refused(BROKE);
    await expect(reached).rejects.toBe(BROKE);
  });

  it('aborts a call that runs ahead when its money is refused', async () => {
    const { booked, abort, ended } = aCall();
    const asked = Promise.withResolvers<InferenceResult>();
    const reached = booked.reach(() => asked.promise);
    abort.addEventListener('abort', () => asked.reject(new AppError('request_timeout', 'The call was cancelled')));
    await Promise.resolve();
    booked.ticket.refused(BROKE);
    await expect(reached).rejects.toBe(BROKE);
    expect(ended).toEqual(['cancelled']);
  });
});
