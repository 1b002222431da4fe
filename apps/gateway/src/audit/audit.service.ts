import { Injectable } from '@nestjs/common';
import type { AuditPageDto, ListAuditQueryDto, Principal } from '@libs/contracts';
import { AuditRepository } from '@libs/persistence';

const DEFAULT_LIMIT = 50;

/** Reads the audit trail of the caller's organization. */
@Injectable()
export class AuditService {
  constructor(private readonly audit: AuditRepository) {}

  /** Returns one page, newest entries first. */
  async list({ organizationId }: Pick<Principal, 'organizationId'>, query: ListAuditQueryDto): Promise<AuditPageDto> {
    const limit = Number(query.limit ?? DEFAULT_LIMIT);
    const { from, to, key_id: keyId, action, target, cursor } = query;
    const found = await this.audit.findEntries(organizationId, { from, to, keyId, action, target, cursor }, limit + 1);
    const entries = found.slice(0, limit);
    return {
      data: entries.map((entry) => ({
        id: entry.id,
        at: entry.at.toISOString(),
        key_id: entry.keyId,
        operator: entry.operator,
        action: entry.action,
        target: entry.target,
        request_id: entry.requestId,
        client_request_id: entry.clientRequestId,
        status: entry.status,
      })),
      next_cursor: found.length > limit ? entries.at(-1)!.id : null,
    };
  }
}
