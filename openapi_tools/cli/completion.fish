function __openapi_tools
    set -l line (commandline -cp)
    for row in (env COMP_LINE="$line" _OPENAPI_TOOLS_COMPLETE=fish_complete (commandline -opc)[1] 2> /dev/null)
        set -l cells (string split \t -- $row)
        if test $cells[1] = file
            __fish_complete_path (commandline -ct)
        else
            printf '%s\t%s\n' $cells[2] "$cells[3]"
        end
    end
end
complete --no-files --command openapi-tools --arguments '(__openapi_tools)'
