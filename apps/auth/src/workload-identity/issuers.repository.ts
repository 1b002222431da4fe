import { Injectable } from '@nestjs/common';
import type { CreateIssuerRequest, IssuerReference, IssuerSettings, ListIssuersRequest } from '@libs/contracts';
import { AppError } from '@libs/errors';
import { Database, outcomeOfRow } from '@libs/persistence';
import type { EntityManager } from 'typeorm';
import { refusalOf } from '../constraint-errors';
import { IdentityIssuerEntity } from './identity-issuer.entity';

export type NewIssuer = CreateIssuerRequest & Pick<IdentityIssuerEntity, 'id'>;

/** Every method asks for the organization: a foreign issuer is as unknown as no issuer. */
@Injectable()
export class IssuersRepository {
  constructor(private readonly database: Database) {}

  async insertIssuer(issuer: NewIssuer): Promise<IdentityIssuerEntity> {
    return this.database.asOrganization(issuer).entities(
      async (manager) => {
        await manager.insert(IdentityIssuerEntity, issuer).catch((error: unknown) => {
          throw refusalOf(error);
        });
        return getWithin(manager, issuer);
      },
      outcomeOfRow('identity_issuers', 'id', issuer.id),
    );
  }

  async getIssuer(reference: IssuerReference): Promise<IdentityIssuerEntity> {
    return this.database.asOrganization(reference).entities((manager) => getWithin(manager, reference));
  }

  async findIssuers(request: ListIssuersRequest): Promise<{ issuers: IdentityIssuerEntity[]; totalCount: number }> {
    const [issuers, totalCount] = await this.database.asOrganization(request).entities((manager) =>
      manager.findAndCount(IdentityIssuerEntity, {
        where: { organizationId: request.organizationId },
        order: { createdAt: 'ASC', id: 'ASC' },
        skip: request.offset,
        take: request.limit,
      }),
    );
    return { issuers, totalCount };
  }

  async updateIssuer({ id, organizationId }: IssuerReference, changes: IssuerSettings): Promise<IdentityIssuerEntity> {
    const updatedAt = (): string => 'now()';
    return this.database.asOrganization({ organizationId }).entities(async (manager) => {
      const updated = await manager.update(IdentityIssuerEntity, { id, organizationId }, { ...changes, updatedAt });
      if (updated.affected !== 1) throw noSuchIssuer();
      return getWithin(manager, { id, organizationId });
    });
  }

  /** The policies of the issuer go with it. */
  async deleteIssuer({ id, organizationId }: IssuerReference): Promise<void> {
    const deleted = await this.database
      .asOrganization({ organizationId })
      .entities((manager) => manager.delete(IdentityIssuerEntity, { id, organizationId }));
    if (deleted.affected !== 1) throw noSuchIssuer();
  }
}

async function getWithin(
  manager: EntityManager,
  { id, organizationId }: IssuerReference,
): Promise<IdentityIssuerEntity> {
  const issuer = await manager.findOneBy(IdentityIssuerEntity, { id, organizationId });
  if (!issuer) throw noSuchIssuer();
  return issuer;
}

function noSuchIssuer(): AppError {
  return new AppError('not_found', 'No such issuer');
}
