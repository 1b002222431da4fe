import { Injectable, type CanActivate, type ExecutionContext } from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import { hashApiKey, readApiKeyKind, type Principal } from '@libs/contracts';
import { AppError } from '@libs/errors';
import { KEY_HEADER, ROUTE_ACCESS, type RouteAccess } from './access.decorators';
import { badCredential, readBearer, readBearerOrKey } from './bearer';
import type { AuthenticatedRequest } from './caller.decorator';
import { KeyDirectory } from './key-directory';

/**
 * The gate before every route (interface §5): from the Authorization header to a Principal on the request.
 *
 * Shape and checksum are judged before anybody is asked, so mistyped and invented keys cost no query.
 * Whatever is wrong with a credential gets the same 401; which kind of key it is matters only afterwards.
 */
@Injectable()
export class BearerGuard implements CanActivate {
  constructor(
    private readonly directory: KeyDirectory,
    private readonly reflector: Reflector,
  ) {}

  canActivate(context: ExecutionContext): boolean | Promise<boolean> {
    const access = this.accessOf(context);
    if (access === 'public') return true;
    const request = context.switchToHttp().getRequest<AuthenticatedRequest>();
    const { rawHeaders } = request.raw;
    const key = this.takesKeyHeader(context) ? readBearerOrKey(rawHeaders) : readBearer(rawHeaders);
    if (readApiKeyKind(key) === null) throw badCredential();
    const found = this.directory.find(hashApiKey(key));
    if (!(found instanceof Promise)) return admit(request, found, access);
    return found.then((principal) => admit(request, principal, access));
  }

  private takesKeyHeader(context: ExecutionContext): boolean {
    return this.reflector.get<boolean | undefined>(KEY_HEADER, context.getClass()) === true;
  }

  private accessOf(context: ExecutionContext): RouteAccess {
    const targets = [context.getHandler(), context.getClass()];
    return this.reflector.getAllAndOverride<RouteAccess | undefined>(ROUTE_ACCESS, targets) ?? 'inference';
  }
}

function admit(request: AuthenticatedRequest, principal: Principal | null, access: RouteAccess): true {
  if (!principal) throw badCredential();
  if (access === 'management' && principal.kind !== 'management') {
    throw new AppError('permission_denied', 'Only management keys can perform this operation');
  }
  if (access === 'inference' && principal.kind !== 'api') {
    throw new AppError('permission_denied', 'Management keys cannot run inference; use an API key');
  }
  request.principal = principal;
  return true;
}
