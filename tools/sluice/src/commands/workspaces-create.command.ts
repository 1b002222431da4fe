import { CreateWorkspace } from '@libs/contracts';
import { optionalText, requiredText, UsageError, type Command } from '../command';
import { ORGANIZATION_OPTION, organizationOf } from '../organization';

export const workspacesCreate: Command = {
  name: 'workspaces create',
  summary: 'Create a workspace',
  usage: '--name NAME [--slug SLUG] [--description TEXT] [--organization ID]',
  options: {
    name: { type: 'string' },
    slug: { type: 'string' },
    description: { type: 'string' },
    ...ORGANIZATION_OPTION,
  },
  positionals: [],
  async run(args, installation) {
    const name = requiredText(args, 'name');
    const workspace = await (
      await installation.bus()
    ).call(CreateWorkspace, {
      organizationId: await organizationOf(args, installation),
      name,
      slug: optionalText(args, 'slug') ?? slugOf(name),
      description: optionalText(args, 'description') ?? null,
    });
    return { data: workspace, text: `workspace  ${workspace.id}\nslug       ${workspace.slug}` };
  },
};

/** `Research & Development` becomes `research-development`. */
function slugOf(name: string): string {
  const words = name
    .normalize('NFKD')
    .toLowerCase()
    .match(/[a-z0-9]+/g);
  if (!words) throw new UsageError('--slug is required: the name has no letter or digit to make one of');
  return words.join('-').slice(0, 50).replace(/-$/, '');
}
