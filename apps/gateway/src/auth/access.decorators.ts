import { applyDecorators, SetMetadata, UseInterceptors, type CustomDecorator } from '@nestjs/common';
import { ROUTE_ACCESS, type RouteAccess } from '../http/route-access';
import { AuditInterceptor } from './audit.interceptor';

/** The route is open to all callers: no credential is checked. */
export function Public(): CustomDecorator<symbol> {
  return SetMetadata(ROUTE_ACCESS, 'public' satisfies RouteAccess);
}

/** Management keys only; any other key gets 403. Every call leaves an entry in the audit trail. */
export function RequiresManagementKey(): ClassDecorator & MethodDecorator {
  return applyDecorators(
    SetMetadata(ROUTE_ACCESS, 'management' satisfies RouteAccess),
    // Not for all routes at once: the mere presence of an interceptor costs every request its observables.
    UseInterceptors(AuditInterceptor),
  );
}

/** A key of either kind. */
export function AcceptsAnyKey(): CustomDecorator<symbol> {
  return SetMetadata(ROUTE_ACCESS, 'any-key' satisfies RouteAccess);
}

export const KEY_HEADER = Symbol('key header');

/** The key may come in `x-api-key` in place of `Authorization`, as clients of the Messages API send it. */
export function AcceptsKeyHeader(): CustomDecorator<symbol> {
  return SetMetadata(KEY_HEADER, true);
}
