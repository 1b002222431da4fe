import { durationHistogram, gauge, type DurationSeries } from '@libs/platform';
import type { FastifyRequest } from 'fastify';
import type { EdgePools } from './edge-pools';

const durations = durationHistogram({
  name: 'sluice_http_request_duration_seconds',
  help: 'From the head of a request to the end of its answer',
  labelNames: ['route', 'status'],
});

/** By route and status: looking a series up by its labels costs more than counting in it. */
const observers = new Map<string, Map<number, DurationSeries>>();

export function observeRequest(request: FastifyRequest, status: number, durationMs: number): void {
  const route = request.is404 ? 'unknown' : (request.routeOptions.url ?? 'unknown');
  observerOf(route, status).observe(durationMs / 1_000);
}

/** What requests have taken of the pools of this process. */
export function measurePools({ working, publicWorking, arriving, publicArriving, memory }: EdgePools): void {
  const gauges: readonly (readonly [name: string, help: string, value: () => number])[] = [
    ['sluice_http_requests_in_flight', 'Requests that are being worked on', () => working.taken + publicWorking.taken],
    [
      'sluice_http_bodies_arriving',
      'Requests whose body has not arrived yet',
      () => arriving.taken + publicArriving.taken,
    ],
    ['sluice_memory_budget_bytes', 'Memory that requests may reserve together', () => memory.bytes],
    ['sluice_memory_reserved_bytes', 'Memory that requests have reserved', () => memory.reserved],
    ['sluice_memory_waiting_requests', 'Requests that wait for memory', () => memory.waiting],
  ];
  for (const [name, help, value] of gauges) gauge({ name, help, collect: (metric) => metric.set(value()) });
}

function observerOf(route: string, status: number): DurationSeries {
  let ofRoute = observers.get(route);
  if (ofRoute === undefined) observers.set(route, (ofRoute = new Map()));
  let observer = ofRoute.get(status);
  if (observer === undefined) ofRoute.set(status, (observer = durations.labels({ route, status: String(status) })));
  return observer;
}
