import { ListWorkspaces, type WorkspaceRecord } from '@libs/contracts';
import type { Command } from '../command';
import { ORGANIZATION_OPTION, organizationOf } from '../organization';
import { table } from '../table';

const PAGE = 100;

export const workspacesList: Command = {
  name: 'workspaces list',
  summary: 'List the workspaces of an organization',
  usage: '[--organization ID]',
  options: ORGANIZATION_OPTION,
  positionals: [],
  async run(args, installation) {
    const organizationId = await organizationOf(args, installation);
    const bus = await installation.bus();
    const workspaces: WorkspaceRecord[] = [];
    for (let full = true; full;) {
      const page = await bus.call(ListWorkspaces, { organizationId, offset: workspaces.length, limit: PAGE });
      workspaces.push(...page.workspaces);
      full = page.workspaces.length === PAGE;
    }
    const rows = workspaces.map(({ id, slug, isDefault, name }) => [id, slug, isDefault ? 'default' : '', name]);
    return { data: workspaces, text: table(['WORKSPACE', 'SLUG', '', 'NAME'], rows) };
  },
};
