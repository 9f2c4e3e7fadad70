/** Texts of the user and of the project for agents: instructions, commands and skills. Nothing here is executed. */
export { type CustomCommand, customCommands, expandCommand } from './custom-commands.ts';
export { readInstructions } from './instructions.ts';
export { readSkills } from './skills.ts';
export { skillTool } from './skill-tool.ts';
