import type { Command } from '../command';
import { allOrganizations } from '../organization';
import { table } from '../table';

export const organizationsList: Command = {
  name: 'organizations list',
  summary: 'List the organizations',
  usage: '',
  options: {},
  positionals: [],
  async run(_args, installation) {
    const organizations = await allOrganizations(installation);
    const rows = organizations.map(({ id, defaultWorkspaceId, name }) => [id, defaultWorkspaceId ?? '-', name]);
    return { data: organizations, text: table(['ORGANIZATION', 'DEFAULT WORKSPACE', 'NAME'], rows) };
  },
};
