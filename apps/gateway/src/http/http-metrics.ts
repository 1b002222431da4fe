import { durationHistogram, gauge, type DurationSeries } from '@libs/platform';
import type { FastifyRequest } from 'fastify';
import type { EdgePools } from './edge-pools';

const durations = durationHistogram({
  name: 'sluice_http_request_duration_seconds',
  help: 'From the head of a request to the end of its answer',
  labelNames: ['route', 'status'],
});

/** By route and status. Cached, because finding a series by its labels costs more than counting in it. */
const observers = new Map<string, Map<number, DurationSeries>>();

export function observeRequest(request: FastifyRequest, status: number, durationMs: number): void {
  const route = request.is404 ? 'unknown' : (request.routeOptions.url ?? 'unknown');
  observerOf(route, status).observe(durationMs / 1_000);
}

/** Exports how much of the process's pools requests use. */
export function measurePools({ working, publicWorking, arriving, publicArriving, memory }: EdgePools): void {
  const gauges = [
    {
      name: 'sluice_http_requests_in_flight',
      help: 'Requests that are being worked on',
      value: () => working.taken + publicWorking.taken,
    },
    {
      name: 'sluice_http_bodies_arriving',
      help: 'Requests whose body has not arrived yet',
      value: () => arriving.taken + publicArriving.taken,
    },
    {
      name: 'sluice_memory_budget_bytes',
      help: 'Memory that requests may reserve together',
      value: () => memory.bytes,
    },
    {
      name: 'sluice_memory_reserved_bytes',
      help: 'Memory that requests have reserved',
      value: () => memory.reserved,
    },
    {
      name: 'sluice_memory_waiting_requests',
      help: 'Requests that wait for memory',
      value: () => memory.waiting,
    },
  ];
  for (const { name, help, value } of gauges) gauge({ name, help, collect: (metric) => metric.set(value()) });
}

function observerOf(route: string, status: number): DurationSeries {
  let ofRoute = observers.get(route);
  if (ofRoute === undefined) observers.set(route, (ofRoute = new Map()));
  let observer = ofRoute.get(status);
  if (observer === undefined) ofRoute.set(status, (observer = durations.labels({ route, status: String(status) })));
  return observer;
}
