import { Injectable, Logger, type CallHandler, type ExecutionContext, type NestInterceptor } from '@nestjs/common';
import { hashOfSecret, isAuthorizationCode, mintId, type Principal } from '@libs/contracts';
import { AuditRepository, type NewAuditEntry } from '@libs/persistence';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { from, lastValueFrom, type Observable } from 'rxjs';
import { principalOf, type AuthenticatedRequest } from '../http/authenticated-request';
import { auditedAction } from './audited-action';

/** Matches UUIDs and hashes, the forms of our ids. Any other text is chosen by the caller and could even be a key. */
const ID = /^(?:[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|[0-9a-f]{64})$/i;

/** Writes one entry in the audit trail for each call of the routes that use it, see `auditedAction`. */
@Injectable()
export class AuditInterceptor implements NestInterceptor {
  private readonly logger = new Logger(AuditInterceptor.name);

  constructor(private readonly audit: AuditRepository) {}

  intercept(context: ExecutionContext, next: CallHandler): Observable<unknown> {
    return from(this.follow(context, next));
  }

  private follow(context: ExecutionContext, next: CallHandler): Promise<unknown> {
    const http = context.switchToHttp();
    const request = http.getRequest<AuthenticatedRequest>();
    const entry = auditEntryOf(request, principalOf(request));
    const answered = (): Promise<unknown> => lastValueFrom(next.handle());
    return auditedAction({ audit: this.audit, logger: this.logger }, entry, answered, (answer) => ({
      status: http.getResponse<FastifyReply>().statusCode,
      created: createdBy(request.method, answer),
    }));
  }
}

/** Returns the audit entry of a call, without any text in which a caller could have put a secret. */
export function auditEntryOf(
  request: AuthenticatedRequest,
  { organizationId, keyId }: Pick<Principal, 'organizationId' | 'keyId'>,
): NewAuditEntry {
  const [target = null] = Object.values(request.params as Readonly<Record<string, string>>);
  return {
    organizationId,
    keyId,
    action: `${request.method} ${request.routeOptions.url ?? ''}`,
    target: target !== null && ID.test(target) ? target : null,
    ...requestIdsOf(request),
  };
}

/**
 * Returns the hash or id of the object that a POST answers with. Returns the hash of an authorization code, which is a
 * secret, and undefined for any other text.
 */
function createdBy(method: string, answer: unknown): string | undefined {
  if (method !== 'POST') return undefined;
  const { data = answer } = (answer ?? {}) as { readonly data?: unknown };
  const { hash, id } = (data ?? {}) as { readonly hash?: unknown; readonly id?: unknown };
  const name = hash ?? id;
  if (typeof name !== 'string') return undefined;
  if (isAuthorizationCode(name)) return hashOfSecret(name);
  return ID.test(name) ? name : undefined;
}

export interface RequestIds {
  readonly requestId: string;
  readonly clientRequestId: string | null;
}

/** Returns an id that the gateway chose, and the caller's own `X-Request-Id`, which need not be unique. */
export function requestIdsOf({ id, headers }: Pick<FastifyRequest, 'id' | 'headers'>): RequestIds {
  const isCallers = headers['x-request-id'] === id;
  return isCallers ? { requestId: mintId('req'), clientRequestId: id } : { requestId: id, clientRequestId: null };
}
