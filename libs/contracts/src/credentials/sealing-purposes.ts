/** Purpose of a raw key sealed on its way in. It names the organization, so that no other can use the sealed key. */
export function intakePurpose(organizationId: string): string {
  return `sluice credential intake of ${organizationId.toLowerCase()}`;
}

/** Purpose of a raw key sealed on its way out. */
export function openingPurpose(credentialId: string): string {
  return `sluice credential opening of ${credentialId.toLowerCase()}`;
}

/** Purpose of a workspace's webhook secret sealed on its way out. */
export function webhookSecretPurpose(workspaceId: string): string {
  return `sluice webhook secret of ${workspaceId.toLowerCase()}`;
}

/** Purpose of a sealed subject token and of the access token it is exchanged for. */
export const EXCHANGE_PURPOSE = 'sluice token exchange';
