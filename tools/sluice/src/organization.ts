import { ListOrganizations, type OrganizationRecord } from '@libs/contracts';
import { AppError } from '@libs/errors';
import { optionalId, UsageError, type CommandArguments } from './command';
import type { Installation } from './installation';

/**
 * Returns the organization that `--organization` names. Without the option it is the only one; if there are several,
 * the operator must name one.
 */
export async function organizationOf(args: CommandArguments, installation: Installation): Promise<string> {
  const named = optionalId(args, 'organization');
  if (named !== undefined) return named;
  const bus = await installation.bus();
  const { organizations, totalCount } = await bus.call(ListOrganizations, { offset: 0, limit: 1 });
  const only = organizations[0];
  if (!only) throw new AppError('not_found', 'There is no organization yet: sluice organizations create --name NAME');
  if (totalCount > 1) throw new UsageError('there are several organizations: --organization ID is required');
  return only.id;
}

const PAGE = 100;

/** All organizations, page by page. */
export async function allOrganizations(installation: Installation): Promise<OrganizationRecord[]> {
  const bus = await installation.bus();
  const all: OrganizationRecord[] = [];
  for (;;) {
    const page = await bus.call(ListOrganizations, { offset: all.length, limit: PAGE });
    all.push(...page.organizations);
    if (page.organizations.length < PAGE) return all;
  }
}

export const ORGANIZATION_OPTION = { organization: { type: 'string' } } as const;
