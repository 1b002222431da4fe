import { Injectable } from '@nestjs/common';
import type { IssuerReference, ListIssuersRequest } from '@libs/contracts';
import { AppError } from '@libs/errors';
import { DataSource } from 'typeorm';
import { refusalOf } from '../constraint-errors';
import { IdentityIssuerEntity } from './identity-issuer.entity';

export type NewIssuer = Pick<IdentityIssuerEntity, 'id' | 'organizationId' | 'name' | 'issuerUrl' | 'jwksUrl'>;

/** Members left out stay as they are. */
export type IssuerChanges = Partial<Pick<IdentityIssuerEntity, 'name' | 'issuerUrl' | 'jwksUrl'>>;

/** Every method asks for the organization: a foreign issuer is as unknown as no issuer. */
@Injectable()
export class IssuersRepository {
  constructor(private readonly dataSource: DataSource) {}

  async insertIssuer(issuer: NewIssuer): Promise<IdentityIssuerEntity> {
    await this.dataSource.manager.insert(IdentityIssuerEntity, issuer).catch((error: unknown) => {
      throw refusalOf(error);
    });
    return this.getIssuer(issuer);
  }

  async getIssuer({ id, organizationId }: IssuerReference): Promise<IdentityIssuerEntity> {
    const issuer = await this.dataSource.manager.findOneBy(IdentityIssuerEntity, { id, organizationId });
    if (!issuer) throw noSuchIssuer();
    return issuer;
  }

  async findIssuers(request: ListIssuersRequest): Promise<{ issuers: IdentityIssuerEntity[]; totalCount: number }> {
    const [issuers, totalCount] = await this.dataSource.manager.findAndCount(IdentityIssuerEntity, {
      where: { organizationId: request.organizationId },
      order: { createdAt: 'ASC', id: 'ASC' },
      skip: request.offset,
      take: request.limit,
    });
    return { issuers, totalCount };
  }

  async updateIssuer({ id, organizationId }: IssuerReference, changes: IssuerChanges): Promise<IdentityIssuerEntity> {
    const updatedAt = (): string => 'now()';
    const updated = await this.dataSource.manager.update(
      IdentityIssuerEntity,
      { id, organizationId },
      { ...changes, updatedAt },
    );
    if (updated.affected !== 1) throw noSuchIssuer();
    return this.getIssuer({ id, organizationId });
  }

  /** The policies of the issuer go with it. */
  async deleteIssuer({ id, organizationId }: IssuerReference): Promise<void> {
    const deleted = await this.dataSource.manager.delete(IdentityIssuerEntity, { id, organizationId });
    if (deleted.affected !== 1) throw noSuchIssuer();
  }
}

function noSuchIssuer(): AppError {
  return new AppError('not_found', 'No such issuer');
}
