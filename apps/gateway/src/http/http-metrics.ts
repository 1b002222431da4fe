import { durationHistogram, gauge, type DurationSeries } from '@libs/platform';
import type { FastifyRequest } from 'fastify';

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

export function countInFlight(size: () => number): void {
  gauge({
    name: 'sluice_http_requests_in_flight',
    help: 'Requests that are being worked on',
    collect: (metric) => metric.set(size()),
  });
}

function observerOf(route: string, status: number): DurationSeries {
  let ofRoute = observers.get(route);
  if (ofRoute === undefined) observers.set(route, (ofRoute = new Map()));
  let observer = ofRoute.get(status);
  if (observer === undefined) ofRoute.set(status, (observer = durations.labels({ route, status: String(status) })));
  return observer;
}
