/** Texts of the user and of the project for agents: instructions, commands, skills and sub-agents. Nothing here is executed. */
export { readAgentFiles } from './agent-files.ts';
export { type CustomCommand, customCommands, expandCommand } from './custom-commands.ts';
export { readInstructions } from './instructions.ts';
export { readSkills } from './skills.ts';
export { skillTool } from './skill-tool.ts';
