import { Injectable } from '@nestjs/common';
import type {
  CreatePolicyRequest,
  ListPoliciesRequest,
  PolicyCheck,
  PolicyReference,
  PolicySettings,
} from '@libs/contracts';
import { AppError } from '@libs/errors';
import { Database, outcomeOfRow } from '@libs/persistence';
import type { EntityManager } from 'typeorm';
import { refusalOf } from '../constraint-errors';
import { FederationPolicyEntity } from './federation-policy.entity';

export type NewPolicy = CreatePolicyRequest & Pick<FederationPolicyEntity, 'id'>;

/** A policy that is enabled, with its issuer. */
export interface EnabledPolicy {
  readonly id: string;
  readonly organizationId: string;
  readonly subject: string | null;
  readonly audience: string;
  readonly condition: string | null;
  readonly apiKeyHash: string;
  readonly singleUse: boolean;
  readonly checks: readonly PolicyCheck[];
  readonly issuerId: string;
  readonly issuerUrl: string;
  readonly jwksUrl: string | null;
}

const FIND_ENABLED = `
  SELECT p.id, p.organization_id AS "organizationId", p.subject, p.audience, p.condition,
         p.api_key_hash AS "apiKeyHash", p.single_use AS "singleUse", p.checks,
         i.id AS "issuerId", i.issuer_url AS "issuerUrl", i.jwks_url AS "jwksUrl"
  FROM federation_policies p JOIN identity_issuers i ON i.id = p.issuer_id
  WHERE p.id = $1 AND p.enabled`;

/** Every method but `findEnabledPolicy` asks for the organization: a foreign policy is as unknown as no policy. */
@Injectable()
export class PoliciesRepository {
  constructor(private readonly database: Database) {}

  /** Asks for no organization: the id of the policy is all that a token exchange names, and implies it. */
  async findEnabledPolicy(id: string): Promise<EnabledPolicy | null> {
    return this.database.firstRow<EnabledPolicy>({ name: 'find-enabled-policy', sql: FIND_ENABLED, values: [id] });
  }

  /** @throws AppError invalid_request for a foreign issuer, and for a policy that restricts no token */
  async insertPolicy(policy: NewPolicy): Promise<FederationPolicyEntity> {
    return this.database.asOrganization(policy).entities(
      async (manager) => {
        await manager.insert(FederationPolicyEntity, policy).catch((error: unknown) => {
          throw refusalOf(error);
        });
        return getWithin(manager, policy);
      },
      outcomeOfRow('federation_policies', 'id', policy.id),
    );
  }

  async getPolicy(reference: PolicyReference): Promise<FederationPolicyEntity> {
    return this.database.asOrganization(reference).entities((manager) => getWithin(manager, reference));
  }

  async findPolicies(
    request: ListPoliciesRequest,
  ): Promise<{ policies: FederationPolicyEntity[]; totalCount: number }> {
    const [policies, totalCount] = await this.database.asOrganization(request).entities((manager) =>
      manager.findAndCount(FederationPolicyEntity, {
        where: { organizationId: request.organizationId },
        order: { createdAt: 'ASC', id: 'ASC' },
        skip: request.offset,
        take: request.limit,
      }),
    );
    return { policies, totalCount };
  }

  /** @throws AppError not_found; invalid_request as `insertPolicy` */
  async updatePolicy(
    { id, organizationId }: PolicyReference,
    changes: PolicySettings,
  ): Promise<FederationPolicyEntity> {
    const updatedAt = (): string => 'now()';
    return this.database.asOrganization({ organizationId }).entities(async (manager) => {
      const updated = await manager
        .update(FederationPolicyEntity, { id, organizationId }, { ...changes, updatedAt })
        .catch((error: unknown) => {
          throw refusalOf(error);
        });
      if (updated.affected !== 1) throw noSuchPolicy();
      return getWithin(manager, { id, organizationId });
    });
  }

  async deletePolicy({ id, organizationId }: PolicyReference): Promise<void> {
    const deleted = await this.database
      .asOrganization({ organizationId })
      .entities((manager) => manager.delete(FederationPolicyEntity, { id, organizationId }));
    if (deleted.affected !== 1) throw noSuchPolicy();
  }
}

async function getWithin(
  manager: EntityManager,
  { id, organizationId }: PolicyReference,
): Promise<FederationPolicyEntity> {
  const policy = await manager.findOneBy(FederationPolicyEntity, { id, organizationId });
  if (!policy) throw noSuchPolicy();
  return policy;
}

function noSuchPolicy(): AppError {
  return new AppError('not_found', 'No such policy');
}
