# The agent for hosts without Python: lists files and sends pieces of them. Needs a POSIX shell, find, stat, readlink,
# dd, and cksum or another program for checksums; uses gzip. See shell.py. Paths are read from stdin as data and never become part of a command.
LC_ALL=C
export LC_ALL
renice -n 10 -p $$ >/dev/null 2>&1
IFS= read -r nonce
name_only="$nonce|%d:%i|%f|0|0||%n"
all="$nonce|%d:%i|%f|%s|%Y|%y|%n"
set -- -name "$nonce"
while IFS= read -r name && [ -n "$name" ]; do
    case $name in
    /*) set -- "$@" -o -path "$name" ;;
    *) set -- "$@" -o -name "$name" ;;
    esac
done
gzip=cat
if [ "$(echo | gzip -1 2>/dev/null | gzip -d 2>/dev/null | wc -c)" -eq 1 ]; then gzip="gzip -1"; fi

summer=
for program in cksum md5sum sha256sum; do
    if [ -z "$summer" ] && [ -n "$(echo | $program 2>/dev/null)" ]; then summer=$program; fi
done

# Print what a command prints, unless its checksum is the first argument.
unless_same() {
    known=$1
    shift
    text=$("$@")
    sum=$(printf '%s' "$text" | $summer | tr ' ' -)
    if [ "$sum" = "$known" ]; then return 3; fi
    printf '%s\n' "$text" | $gzip
    printf '\n%s' "$sum"
}

# Expand the path of the logs.
expand() {
    case $root in
    "~") root=$HOME ;;
    "~/"*) root=$HOME/${root#"~/"} ;;
    esac
    if [ -e "$root" ]; then
        stat -L -c "$all" "$root"
    else
        (
            IFS=
            for path in $root; do stat -L -c "$all" "$path"; done
        )
    fi
}

list() {
    find "$path" -maxdepth 16 -type d \( "$@" \) -prune -o \
        -name "*.json" -exec stat -c "$all" {} + -o -exec stat -c "$name_only" {} +
}

examine() {
    count=$1
    set --
    while [ "$count" -gt 0 ]; do
        IFS= read -r path
        set -- "$@" "$path"
        count=$((count - 1))
    done
    stat -L -c "$all" "$@"
}

# Print blocks of 4 KiB of a file, and then its status. Arguments: the first block, the number of blocks.
piece() {
    if ! [ -e "$path" ]; then return 1; fi
    if ! [ -f "$path" ]; then return 4; fi
    if ! [ -r "$path" ]; then return 2; fi
    if [ "$2" -gt 4 ]; then
        dd if="$path" bs=4096 skip="$1" count="$2" | $gzip
    else
        dd if="$path" bs=4096 skip="$1" count="$2"
    fi
    printf '\n'
    stat -L -c "$all" "$path"
}

works=$(stat -L -c %s / >/dev/null 2>&1 && printf x | dd bs=1 count=1 2>/dev/null | $summer 2>/dev/null)
printf '\n%s %s %s %s %s\n' "$nonce" "${works:+0}" "$(date +%s)" "${gzip%% *}" "$(uname -n)"
while IFS=" " read -r request first second; do
    {
        case $request in
        expand)
            IFS= read -r root
            expand
            ;;
        list)
            IFS= read -r path
            if [ -r "$path" ] && [ -x "$path" ]; then unless_same "$first" list "$@"; else (exit 2); fi
            ;;
        link)
            IFS= read -r path
            printf '%s=%s\n' "$nonce" "$(readlink -f "$path")"
            stat -L -c "$all" "$path"
            ;;
        examine) unless_same "$first" examine "$second" ;;
        piece)
            IFS= read -r path
            piece "$first" "$second"
            ;;
        esac
        printf '\n%s %s\n' "$nonce" "$?"
    } 2>/dev/null
done
