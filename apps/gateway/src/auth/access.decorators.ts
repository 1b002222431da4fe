import { applyDecorators, SetMetadata, UseInterceptors, type CustomDecorator } from '@nestjs/common';
import { ROUTE_ACCESS, type RouteAccess } from '../http/route-access';
import { AuditInterceptor } from './audit.interceptor';

/** The route is open to all callers: no credential is checked. */
export function Public(): CustomDecorator<symbol> {
  return SetMetadata(ROUTE_ACCESS, 'public' satisfies RouteAccess);
}

/** Restricts a route to management keys; any other key gets 403. Every call is recorded in the audit trail. */
export function RequiresManagementKey(): ClassDecorator & MethodDecorator {
  return applyDecorators(
    SetMetadata(ROUTE_ACCESS, 'management' satisfies RouteAccess),
    // Not registered for all routes, because any interceptor adds the cost of observables to each request.
    UseInterceptors(AuditInterceptor),
  );
}

/** A key of either kind. */
export function AcceptsAnyKey(): CustomDecorator<symbol> {
  return SetMetadata(ROUTE_ACCESS, 'any-key' satisfies RouteAccess);
}

export const KEY_HEADER = Symbol('key header');

/** The key may be sent in `x-api-key` instead of `Authorization`, as Anthropic's clients do. */
export function AcceptsKeyHeader(): CustomDecorator<symbol> {
  return SetMetadata(KEY_HEADER, true);
}
