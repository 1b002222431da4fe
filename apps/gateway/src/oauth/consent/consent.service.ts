import { Injectable, Logger } from '@nestjs/common';
import {
  CloseConsentSession,
  FindConsentSession,
  hashApiKey,
  hashOfSecret,
  ListWorkspaces,
  OpenConsentSession,
  readApiKeyKind,
  type CodeRequestDto,
  type Principal,
  type WorkspaceRecord,
} from '@libs/contracts';
import { AuditRepository, LastUses } from '@libs/persistence';
import { MessageBus } from '@libs/platform';
import type { RequestIds } from '../../auth/audit.interceptor';
import { auditedAction } from '../../auth/audited-action';
import { FailedAuthentications } from '../../auth/failed-authentications';
import { AuthorizationCodesService } from '../authorization-codes.service';

/** Most workspaces to list; a longer list on a page would not be usable. */
const MOST_WORKSPACES = 100;

/** Name of an agreement in the audit trail. */
const AGREEMENT = 'POST /auth';

export interface Agreement {
  /** Null: the code is shown. */
  readonly callbackUrl: string | null;
  readonly wanted: CodeRequestDto;
}

/** Knows who is signed in on the consent page, and which workspaces and limits they may use for keys. */
@Injectable()
export class ConsentService {
  private readonly logger = new Logger(ConsentService.name);

  constructor(
    private readonly bus: MessageBus,
    private readonly codes: AuthorizationCodesService,
    private readonly audit: AuditRepository,
    private readonly uses: LastUses,
    private readonly failures: FailedAuthentications,
  ) {}

  /**
   * Opens a session for a management key that can be used. Returns whether `sessionSecret` is now signed in with it.
   *
   * @throws AppError rate_limit_exceeded for an address with too many unknown keys
   */
  async signIn(managementKey: string, sessionSecret: string, address: string): Promise<boolean> {
    if (readApiKeyKind(managementKey) !== 'management') return false;
    const asked = { sessionHash: hashOfSecret(sessionSecret), keyHash: hashApiKey(managementKey) };
    const open = async (): Promise<true | null> => (await this.bus.call(OpenConsentSession, asked)).opened || null;
    return (await this.failures.judgeKey(address, asked.keyHash, open)) === true;
  }

  async signOut(sessionSecret: string): Promise<void> {
    await this.bus.call(CloseConsentSession, { sessionHash: hashOfSecret(sessionSecret) });
  }

  async findManager(sessionSecret: string | null): Promise<Principal | null> {
    if (sessionSecret === null) return null;
    const { principal } = await this.bus.call(FindConsentSession, { sessionHash: hashOfSecret(sessionSecret) });
    if (principal !== null) this.uses.note(principal.organizationId, principal.keyHash);
    return principal;
  }

  async workspacesOf({ organizationId }: Principal): Promise<readonly WorkspaceRecord[]> {
    return (await this.bus.call(ListWorkspaces, { organizationId, offset: 0, limit: MOST_WORKSPACES })).workspaces;
  }

  /** Returns the code for an agreement, and records it in the audit trail like any action of a management key. */
  async agree(manager: Principal, ids: RequestIds, agreement: Agreement): Promise<string> {
    const { organizationId, keyId } = manager;
    const entry = { organizationId, keyId, action: AGREEMENT, target: null, ...ids };
    const issue = () => this.codes.issue(organizationId, agreement.callbackUrl, agreement.wanted);
    const trail = { audit: this.audit, logger: this.logger };
    const { code } = await auditedAction(trail, entry, issue, (issued) => ({
      status: 200,
      created: hashOfSecret(issued.code),
    }));
    return code;
  }
}
