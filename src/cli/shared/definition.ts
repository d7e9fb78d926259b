/** A command's definition as plain data, for what is made of it besides `--help`: completion and the man page. */
import type { Argument, Command, Option } from 'commander';

interface Value {
  /** As it is shown: `<file>`. */
  readonly shown: string;
  readonly kind: 'choice' | 'file' | 'other';
  readonly choices: readonly string[];
  readonly isVariadic: boolean;
}

export interface Flag {
  /** `-h` and `--help`. */
  readonly names: readonly string[];
  /** Null: it takes none. */
  readonly value: Value | null;
  readonly description: string;
  /** Null: it has none, or one that says nothing. */
  readonly byDefault: string | null;
}

export interface Definition {
  readonly name: string;
  readonly summary: string;
  readonly takes: readonly (Value & { readonly description: string })[];
  readonly flags: readonly Flag[];
}

export function definitionOf(command: Command): Definition {
  return {
    name: command.name(),
    summary: command.description(),
    takes: command.registeredArguments.map((argument) => ({
      ...valueOf(argument, argument.name()),
      description: argument.description,
    })),
    flags: command.createHelp().visibleOptions(command).map(flagOf),
  };
}

function flagOf(option: Option): Flag {
  const { short, long, description } = option;
  const placeholder = /[<[](.+?)(?:\.\.\.)?[>\]]/.exec(option.flags)?.[1];
  const shown: unknown = option.defaultValue;
  return {
    names: [short, long].filter((name) => name !== undefined),
    value: placeholder === undefined ? null : valueOf(option, placeholder),
    description,
    byDefault: typeof shown === 'string' || typeof shown === 'number' ? String(shown) : null,
  };
}

function valueOf(of: Option | Argument, name: string): Value {
  const choices = of.argChoices ?? [];
  const shown = `<${name}${of.variadic ? '...' : ''}>`;
  const kind = choices.length > 0 ? 'choice' : ['file', 'path'].includes(name) ? 'file' : 'other';
  return { shown, kind, choices, isVariadic: of.variadic };
}
