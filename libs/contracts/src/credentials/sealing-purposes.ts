/** What a raw key is sealed for on its way in: nobody can pass it off as another organization's. */
export function intakePurpose(organizationId: string): string {
  return `sluice credential intake of ${organizationId.toLowerCase()}`;
}

/** What a raw key is sealed for on its way out. */
export function openingPurpose(credentialId: string): string {
  return `sluice credential opening of ${credentialId.toLowerCase()}`;
}

/** What a workspace's webhook secret is sealed for on its way out. */
export function webhookSecretPurpose(workspaceId: string): string {
  return `sluice webhook secret of ${workspaceId.toLowerCase()}`;
}

/** What a subject token, and the access token it is exchanged for, are sealed for. */
export const EXCHANGE_PURPOSE = 'sluice token exchange';
