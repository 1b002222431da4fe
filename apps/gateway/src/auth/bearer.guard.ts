import { Injectable, Optional, type CanActivate, type ExecutionContext } from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import type { Principal } from '@libs/contracts';
import { AppError } from '@libs/errors';
import { KeyDirectory } from '@libs/platform';
import { auditEntryOf } from './audit.interceptor';
import { RefusedCalls } from './refused-calls';
import { requestOf } from '../http/request-of';
import { sourceOf } from '../http/source-address';
import { KEY_HEADER } from './access.decorators';
import { ROUTE_ACCESS, type RouteAccess } from '../http/route-access';
import { AccessTokens, isTokenShaped, type Judge } from './access-tokens';
import { badCredential, hasKeyHeader, readBearer, readBearerOrKey } from './bearer';
import type { AuthenticatedRequest } from '../http/authenticated-request';
import { FailedAuthentications } from './failed-authentications';
import { KnownKeys } from './known-keys';

/**
 * Authenticates every request: turns the Authorization header into a Principal.
 *
 * Checks form and checksum before it sends any lookup, so mistyped and invented keys cost no query. Every invalid
 * credential gets the same 401; the kind of a key matters only later. An access token acts as its API key.
 */
@Injectable()
export class BearerGuard implements CanActivate {
  private readonly rules = new WeakMap<Function, AccessRule>();
  private readonly knownKeys = new KnownKeys();

  constructor(
    private readonly directory: KeyDirectory,
    private readonly reflector: Reflector,
    private readonly accessTokens: AccessTokens,
    private readonly failures: FailedAuthentications,
    @Optional() private readonly refused?: RefusedCalls,
  ) {}

  canActivate(context: ExecutionContext): boolean | Promise<boolean> {
    const { access, takesKeyHeader } = this.ruleOf(context);
    if (access === 'public') return true;
    const request = requestOf<AuthenticatedRequest>(context);
    const { rawHeaders } = request.raw;
    const keyHash = this.knownKeys.hashOf(takesKeyHeader ? readBearerOrKey(rawHeaders) : readBearer(rawHeaders));
    if (keyHash === null) {
      if (takesKeyHeader && hasKeyHeader(rawHeaders)) throw badCredential();
      return this.admitToken(request, access);
    }
    const found = this.failures.isKnownGood(keyHash)
      ? this.directory.find(keyHash)
      : this.judgerOf(request)(async () => this.directory.find(keyHash));
    if (!(found instanceof Promise)) return this.admit(request, found, access);
    return found.then((principal) => {
      if (principal === null) this.failures.bad(keyHash);
      else this.failures.good(keyHash);
      return this.admit(request, principal, access);
    });
  }

  /**
   * Admits a credential that is not a key but may be an access token. Tokens are accepted only in the Authorization
   * header.
   */
  private admitToken(request: AuthenticatedRequest, access: RouteAccess): Promise<true> {
    const token = readBearer(request.raw.rawHeaders);
    if (!isTokenShaped(token)) throw badCredential();
    return this.principalOfToken(token, request).then((principal) => this.admit(request, principal, access));
  }

  /** A token outlives its key by some minutes, so a lookup that does not find the key also counts as a failure. */
  private async principalOfToken(token: string, request: AuthenticatedRequest): Promise<Principal | null> {
    const keyHash = await this.accessTokens.keyHashOf(token, this.judgerOf(request));
    if (keyHash === null) return null;
    const look = async (): Promise<Principal | null> => this.directory.findRecord(keyHash);
    return this.failures.judgeKey(sourceOf(request.ip), `record ${keyHash}`, look);
  }

  /** Counts the failures of the request's source address. Looks nothing up for an address with too many failures. */
  private judgerOf(request: AuthenticatedRequest): Judge {
    return (look) => this.failures.judge(sourceOf(request.ip), look);
  }

  private admit(request: AuthenticatedRequest, principal: Principal | null, access: RouteAccess): true {
    if (!principal) throw badCredential();
    const refusal = refusalOf(principal, access);
    if (refusal !== null) {
      this.refused?.note(auditEntryOf(request, principal));
      throw new AppError('permission_denied', refusal);
    }
    request.principal = principal;
    const { refused } = this;
    if (access === 'management' && refused !== undefined) {
      request.noteRefusal = (status) => refused.note(auditEntryOf(request, principal), status);
    }
    return true;
  }

  /** Rules by handler. Cached, because decorators do not change and reading them costs more than checking a key. */
  private ruleOf(context: ExecutionContext): AccessRule {
    const handler = context.getHandler();
    let rule = this.rules.get(handler);
    if (rule === undefined) {
      const access = this.reflector.getAllAndOverride<RouteAccess | undefined>(ROUTE_ACCESS, [
        handler,
        context.getClass(),
      ]);
      const takesKeyHeader = this.reflector.get<boolean | undefined>(KEY_HEADER, context.getClass()) === true;
      this.rules.set(handler, (rule = { access: access ?? 'inference', takesKeyHeader }));
    }
    return rule;
  }
}

function refusalOf({ kind }: Principal, access: RouteAccess): string | null {
  if (access === 'management' && kind !== 'management') return 'Only management keys can perform this operation';
  if (access === 'inference' && kind !== 'api') return 'Management keys cannot run inference; use an API key';
  return null;
}

interface AccessRule {
  readonly access: RouteAccess;
  readonly takesKeyHeader: boolean;
}
