import { Injectable, Logger, type CallHandler, type ExecutionContext, type NestInterceptor } from '@nestjs/common';
import { mintId, type Principal } from '@libs/contracts';
import { AppError } from '@libs/errors';
import { AuditRepository, type BegunAuditEntry, type NewAuditEntry } from '@libs/persistence';
import { fromHttpFramework } from '@libs/platform';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { from, lastValueFrom, type Observable } from 'rxjs';
import { principalOf, type AuthenticatedRequest } from '../http/authenticated-request';

/** Matches UUIDs and hashes, the forms of our ids. Any other text is chosen by the caller and could even be a key. */
const ID = /^(?:[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|[0-9a-f]{64})$/i;

/**
 * Writes one entry in the audit trail for each call of the routes that use it. The entry is written before the call
 * does anything, so no action is missing from the trail. The status of the answer is added afterwards.
 */
@Injectable()
export class AuditInterceptor implements NestInterceptor {
  private readonly logger = new Logger(AuditInterceptor.name);

  constructor(private readonly audit: AuditRepository) {}

  intercept(context: ExecutionContext, next: CallHandler): Observable<unknown> {
    return from(this.follow(context, next));
  }

  private async follow(context: ExecutionContext, next: CallHandler): Promise<unknown> {
    const request = context.switchToHttp().getRequest<AuthenticatedRequest>();
    const entry = await this.audit.beginEntry(auditEntryOf(request, principalOf(request)));
    try {
      const answer: unknown = await lastValueFrom(next.handle());
      await this.end(
        entry,
        context.switchToHttp().getResponse<FastifyReply>().statusCode,
        createdBy(request.method, answer),
      );
      return answer;
    } catch (error) {
      await this.end(entry, fromHttpFramework(error).status);
      throw error;
    }
  }

  /** The call is over and cannot be undone. An entry without a status still shows that it began. */
  private async end(entry: BegunAuditEntry, status: number, created?: string): Promise<void> {
    await this.audit.endEntry(entry, status, created).catch((error: unknown) => {
      this.logger.warn('The outcome of a call is not in the audit trail', {
        entry: entry.id,
        err: AppError.from(error),
      });
    });
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

/** Returns the hash or id of the object that a POST answers with; undefined for text in the form of a secret. */
function createdBy(method: string, answer: unknown): string | undefined {
  if (method !== 'POST') return undefined;
  const { data = answer } = (answer ?? {}) as { readonly data?: unknown };
  const { hash, id } = (data ?? {}) as { readonly hash?: unknown; readonly id?: unknown };
  const name = hash ?? id;
  return typeof name === 'string' && ID.test(name) ? name : undefined;
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
